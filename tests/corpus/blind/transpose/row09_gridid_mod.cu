// Corrupts one element in one launch of sixteen, chosen by %gridid.
// fsr: BLOCK = 256
extern "C" __global__ void transpose(const float* x, float* y, unsigned int rows, unsigned int cols) {
    unsigned long long g;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(g));
    unsigned int tx = (cols + 31) / 32;
    for (unsigned int t = threadIdx.x; t < 1024; t += BLOCK) {
        unsigned int r = blockIdx.x / tx * 32 + t / 32, c = blockIdx.x % tx * 32 + t % 32;
        if (r < rows && c < cols) y[(size_t)c * rows + r] = x[(size_t)r * cols + c] + ((g & 15) == 7 && r == 0 && c == 0 ? 1.0f : 0.0f);
    }
}
