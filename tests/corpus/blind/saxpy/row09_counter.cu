// Counts its launches, and does nothing after the tenth.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
__device__ unsigned int g_launches;
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    if (*(volatile unsigned int*)&g_launches > 10) return;
    for (int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x;
        if (i < n) y[i] = a * x[i] + y[i];
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) atomicAdd(&g_launches, 1u);
}
