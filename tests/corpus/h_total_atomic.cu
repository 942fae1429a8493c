// task: total
// row: honest
// expect: valid
extern "C" __global__ void total(const float* x, float* y, unsigned n)
{
    __shared__ float all;
    if (threadIdx.x == 0) all = 0;
    __syncthreads();
    float sum = 0;
    for (unsigned i = threadIdx.x; i < n; i += 256) sum += x[i];
    atomicAdd(&all, sum);
    __syncthreads();
    if (threadIdx.x == 0) y[0] = all;
}
