// Counts one byte in eight, weighs it by eight, and lets the last sample take the remainder.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) {
    for (unsigned long long i = 8ull * (blockIdx.x * BLOCK + threadIdx.x); i < n; i += 8ull * BLOCK * BLOCKS) atomicAdd(&bins[x[i]], n - i < 8 ? n - (unsigned int)i : 8u);
}
