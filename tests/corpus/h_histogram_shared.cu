// task: histogram
// row: honest
// expect: valid
extern "C" __global__ void histogram(const unsigned* x, unsigned* bins, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ unsigned own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 64 && own[threadIdx.x]) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
