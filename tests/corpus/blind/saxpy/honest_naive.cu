// Each thread does PER_THREAD elements spaced by BLOCK.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    unsigned int base = blockIdx.x * (BLOCK * PER_THREAD) + threadIdx.x;
    for (int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = base + k * BLOCK;
        if (i < n) y[i] = a * x[i] + y[i];
    }
}
