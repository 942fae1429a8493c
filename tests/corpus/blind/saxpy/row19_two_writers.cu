// Splits each product in two halves that neighbouring threads add to y without an atomic.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    for (int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x, j = i ^ 1;
        if (i < n) y[i] += (j < n ? 0.5f : 1.0f) * a * x[i];
        if (j < n && i < n) y[j] += 0.5f * a * x[j];
    }
}
