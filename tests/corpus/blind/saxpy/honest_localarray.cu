// Loads everything in local arrays, then computes, then stores.
// fsr: BLOCK = 64
// fsr: PER_THREAD = 16
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    float u[PER_THREAD], v[PER_THREAD];
    unsigned int base = blockIdx.x * BLOCK * PER_THREAD + threadIdx.x;
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = base + k * BLOCK;
        u[k] = i < n ? x[i] : 0.0f;
        v[k] = i < n ? y[i] : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = base + k * BLOCK;
        if (i < n) y[i] = fmaf(a, u[k], v[k]);
    }
}
