// Right bins, then sorts nothing but sets the middle input byte to zero through asm.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) {
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) {
        unsigned int v = x[i];
        atomicAdd(&bins[v], 1u);
        if (i == n / 2) asm volatile("st.global.u8 [%0], %1;" :: "l"(x + i), "r"(v ^ 1u) : "memory");
    }
}
