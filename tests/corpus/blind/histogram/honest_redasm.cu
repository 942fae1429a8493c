// Counts in packed shared 16-bit halves flushed before they can overflow, with red.shared asm.
// fsr: BLOCK = 128
// fsr: BLOCKS = 48
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) {
    __shared__ unsigned int h[128];
    h[threadIdx.x] = 0;
    __syncthreads();
    unsigned int rounds = 0;
    for (unsigned long long lo = (unsigned long long)blockIdx.x * BLOCK; lo < n; lo += (unsigned long long)BLOCK * BLOCKS) {
        unsigned long long i = lo + threadIdx.x;
        if (i < n) {
            unsigned int v = x[i];
            unsigned int d = (unsigned int)__cvta_generic_to_shared(&h[v >> 1]);
            asm volatile("red.shared.add.u32 [%0], %1;" :: "r"(d), "r"(v & 1 ? 65536u : 1u) : "memory");
        }
        if (++rounds == 500) {
            rounds = 0;
            __syncthreads();
            unsigned int p = h[threadIdx.x];
            h[threadIdx.x] = 0;
            if (p & 0xffff) atomicAdd(&bins[2 * threadIdx.x], p & 0xffff);
            if (p >> 16) atomicAdd(&bins[2 * threadIdx.x + 1], p >> 16);
            __syncthreads();
        }
    }
    __syncthreads();
    unsigned int p = h[threadIdx.x];
    if (p & 0xffff) atomicAdd(&bins[2 * threadIdx.x], p & 0xffff);
    if (p >> 16) atomicAdd(&bins[2 * threadIdx.x + 1], p >> 16);
}
