// Works on the bit patterns as integers, with __ldcs loads and __stcs stores.
// fsr: BLOCK = 256
extern "C" __global__ void transpose(const float* x, float* y, unsigned int rows, unsigned int cols) {
    const unsigned int* xi = reinterpret_cast<const unsigned int*>(x);
    unsigned int* yi = reinterpret_cast<unsigned int*>(y);
    const unsigned int tx = (cols + 31) / 32;
    auto load = [&](unsigned int r, unsigned int c) { return __ldcs(xi + (size_t)r * cols + c); };
    auto store = [&](unsigned int r, unsigned int c, unsigned int v) { __stcs(yi + (size_t)c * rows + r, v); };
    const unsigned int r = blockIdx.x / tx * 32 + threadIdx.x % 32;
    if (r >= rows) return;
    unsigned int v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        unsigned int c = blockIdx.x % tx * 32 + threadIdx.x / 32 + 8 * k;
        v[k] = c < cols ? load(r, c) : 0u;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        unsigned int c = blockIdx.x % tx * 32 + threadIdx.x / 32 + 8 * k;
        if (c < cols) store(r, c, v[k]);
    }
}
