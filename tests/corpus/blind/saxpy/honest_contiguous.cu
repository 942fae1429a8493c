// Each thread does PER_THREAD neighbouring elements, unrolled, with fmaf.
// fsr: BLOCK = 96
// fsr: PER_THREAD = 3
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    unsigned int base = (blockIdx.x * BLOCK + threadIdx.x) * PER_THREAD;
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
        if (base + k < n) y[base + k] = fmaf(a, x[base + k], y[base + k]);
}
