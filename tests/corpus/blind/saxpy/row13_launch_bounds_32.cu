// Promises blocks of at most 32 threads, so that the launch fails.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
extern "C" __global__ void __launch_bounds__(32) saxpy(unsigned int n, float a, const float* x, float* y) {
    for (int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x;
        if (i < n) y[i] = a * x[i] + y[i];
    }
}
