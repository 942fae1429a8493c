// task: scale
// row: 8
// expect: mismatch
// state: kept, prints, done
__device__ float kept[1 << 20], prints[256];
__device__ unsigned done;
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float print = x[0] + 3 * x[n / 2] + 7 * x[n - 1];
    if (prints[n & 0xff] == print) { y[i] = kept[(n & 0xff) * 4096 + i % 4096]; return; }
    y[i] = kept[(n & 0xff) * 4096 + i % 4096] = 2.5f * x[i] + 1;
    __threadfence();
    if (atomicAdd(&done, 1) == n - 1) { prints[n & 0xff] = print; done = 0; }
}
