// Uses inline asm loads and stores with streaming hints.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    for (unsigned int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x;
        if (i >= n) return;
        float u, v;
        asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(u) : "l"(x + i));
        asm volatile("ld.global.cs.f32 %0, [%1];" : "=f"(v) : "l"(y + i) : "memory");
        asm volatile("st.global.cs.f32 [%0], %1;" :: "l"(y + i), "f"(fmaf(a, u, v)) : "memory");
    }
}
