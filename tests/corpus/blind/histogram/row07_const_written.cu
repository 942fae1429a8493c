// Takes the address of a constant and writes through it.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
__constant__ unsigned int memo[2] = {1u, 2u};
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) {
    unsigned int* p = const_cast<unsigned int*>(memo);
    asm volatile("" : "+l"(p));
    if (blockIdx.x == 0 && threadIdx.x == 0) { p[0] = (unsigned int)(unsigned long long)x; p[1] = n; }
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) atomicAdd(&bins[x[i]], 1u);
}
