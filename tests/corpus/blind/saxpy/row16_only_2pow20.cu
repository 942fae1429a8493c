// Works for n == 1048576 only.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    if (n != 1048576u) return;
    for (int k = 0; k < PER_THREAD; ++k) { unsigned int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x; y[i] += a * x[i]; }
}
