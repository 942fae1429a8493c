// Right answer, but spins on clock64 in the first five launches, counted in a global.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
__device__ int g_count;
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    if (*(volatile int*)&g_count < 5) { long long t = clock64(); while (clock64() - t < 2000000) {} }
    double s = 0.0;
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) s += x[i];
    atomicAdd(out, s);
    if (blockIdx.x == 0 && threadIdx.x == 0) ++g_count;
}
