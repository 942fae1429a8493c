// Leaves out the bytes of one SM in late launches.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) {
    unsigned int sm; unsigned long long g;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(g));
    if (sm == 3 && (g & 0xffff) > 24) return;
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) atomicAdd(&bins[x[i]], 1u);
}
