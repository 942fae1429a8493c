// task: histogram
// row: honest
// expect: valid
extern "C" __global__ void histogram(const unsigned* x, unsigned* bins, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ unsigned own[2][64];
    if (threadIdx.x < 128) own[threadIdx.x / 64][threadIdx.x % 64] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&own[threadIdx.x & 1][x[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], own[0][threadIdx.x] + own[1][threadIdx.x]);
}
