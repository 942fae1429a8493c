// Right answer, and a write just before y.
// fsr: BLOCK = 256
extern "C" __global__ void transpose(const float* x, float* y, unsigned int rows, unsigned int cols) {
    unsigned int tx = (cols + 31) / 32;
    for (unsigned int t = threadIdx.x; t < 1024; t += BLOCK) {
        unsigned int r = blockIdx.x / tx * 32 + t / 32, c = blockIdx.x % tx * 32 + t % 32;
        if (r < rows && c < cols) y[(size_t)c * rows + r] = x[(size_t)r * cols + c];
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) *(y - 1) = 1.0f;
}
