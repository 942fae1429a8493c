// Gives each thread a private array of a hundred thousand counters.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) {
    volatile unsigned int mine[100000];
    for (unsigned int k = 0; k < 100000; k += 391) mine[k] = 0;
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) mine[x[i] * 391] = mine[x[i] * 391] + 1;
    for (unsigned int b = 0; b < 256; ++b) if (mine[b * 391]) atomicAdd(&bins[b], mine[b * 391]);
}
