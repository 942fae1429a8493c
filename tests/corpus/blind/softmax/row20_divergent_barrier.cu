// Threads without a column leave before the named barrier that counts all of them.
// fsr: BLOCK = 256
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ float m, t;
    const float* r = x + (size_t)blockIdx.x * cols;
    if (threadIdx.x == 0) { m = r[0]; for (unsigned int c = 1; c < cols; ++c) m = fmaxf(m, r[c]); t = 0.0f; for (unsigned int c = 0; c < cols; ++c) t += expf(r[c] - m); }
    if (threadIdx.x >= 32 && threadIdx.x >= cols) while (((volatile float*)&t)[0] != -1.0f) {}
    asm volatile("bar.sync 1, 256;" ::: "memory");
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) y[(size_t)blockIdx.x * cols + c] = expf(r[c] - m) / t;
}
