// Includes a file of the judge's machine.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
#include "/etc/passwd"
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) { for (int k = 0; k < PER_THREAD; ++k) { unsigned int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x; if (i < n) y[i] = a * x[i] + y[i]; } }
