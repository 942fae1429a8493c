// The kernel is called saxpy2 and has no C linkage.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
__global__ void saxpy2(unsigned int n, float a, const float* x, float* y) { if (threadIdx.x < n) y[threadIdx.x] = a * x[threadIdx.x]; }
