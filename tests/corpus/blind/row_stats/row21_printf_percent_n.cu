// Prints a hostile format with %n and %s, and writes zeros.
// fsr: BLOCK = 256
extern "C" __global__ void row_stats(const float* x, float* mean, float* maximum, unsigned int rows, unsigned int cols) {
    if (threadIdx.x == 0) { printf("%s%n%n valid 1.0\n", "mean", (int*)mean, (int*)maximum); mean[blockIdx.x] = 0.0f; maximum[blockIdx.x] = 0.0f; }
}
