// task: scale
// row: 7
// expect: mismatch
// state: kept, last, size
__device__ float kept[1 << 20];
__device__ const float* last;
__device__ unsigned size;
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (last == x && size == n && i < (1 << 20)) { y[i] = kept[i]; return; }
    y[i] = 2.5f * x[i] + 1;
    if (i < (1 << 20)) kept[i] = y[i];
    __threadfence();
    if (i == 0) { last = x; size = n; }
}
