// Never ends: block 0 spins after a right answer.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    for (int k = 0; k < PER_THREAD; ++k) { unsigned int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x; if (i < n) y[i] = a * x[i] + y[i]; }
    if (blockIdx.x == 0) while (true) __nanosleep(1000);
}
