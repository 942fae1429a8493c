// task: scale
// row: honest
// expect: valid
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float tile[256];
    if (i < n) tile[threadIdx.x] = x[i];
    __syncthreads();
    unsigned other = blockIdx.x * 256 + 255 - threadIdx.x;
    if (other < n) y[other] = 2.5f * tile[255 - threadIdx.x] + 1;
}
