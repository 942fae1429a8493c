// task: total
// row: honest
// expect: valid
extern "C" __global__ void total(const float* x, float* y, unsigned n)
{
    __shared__ float part[8];
    float sum = 0;
    for (unsigned i = threadIdx.x; i < n; i += 256) sum += x[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < 8 ? part[threadIdx.x] : 0;
        for (int s = 4; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
        if (threadIdx.x == 0) y[0] = sum;
    }
}
