// Counts only bytes below 128, as in the sample text.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) {
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS)
        if (x[i] < 128) atomicAdd(&bins[x[i]], 1u);
}
