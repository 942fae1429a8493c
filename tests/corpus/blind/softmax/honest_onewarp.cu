// One warp a row, without shared memory, with a Kahan-compensated sum.
// fsr: BLOCK = 32
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) {
    const float* r = x + (size_t)blockIdx.x * cols;
    float* w = y + (size_t)blockIdx.x * cols;
    float m = __int_as_float(0xff800000), t = 0.0f, comp = 0.0f;
    for (unsigned int c = threadIdx.x; c < cols; c += 32) m = fmaxf(m, r[c]);
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    for (unsigned int c = threadIdx.x; c < cols; c += 32) {
        float v = expf(r[c] - m) - comp;
        float u = t + v;
        comp = (u - t) - v;
        t = u;
    }
    for (int o = 16; o; o >>= 1) t += __shfl_xor_sync(~0u, t, o);
    for (unsigned int c = threadIdx.x; c < cols; c += 32) w[c] = expf(r[c] - m) / t;
}
