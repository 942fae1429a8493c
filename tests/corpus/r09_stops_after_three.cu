// task: scale
// row: 9
// expect: mismatch
// state: launches
__device__ unsigned launches;
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && *(volatile unsigned*)&launches < 3) y[i] = 2.5f * x[i] + 1;
    __threadfence();
    if (i == 0) launches += 1;
}
