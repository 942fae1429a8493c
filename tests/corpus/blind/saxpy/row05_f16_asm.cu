// Rounds both factors to f16 by inline asm.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    for (int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x;
        if (i < n) {
            float r;
            asm("{ .reg .b16 h, g; cvt.rn.f16.f32 h, %1; cvt.rn.f16.f32 g, %2; mul.f16 h, h, g; cvt.f32.f16 %0, h; }" : "=f"(r) : "f"(a), "f"(x[i]));
            y[i] += r;
        }
    }
}
