// task: total
// row: 19
// expect: execution mismatch
extern "C" __global__ void total(const float* x, float* y, unsigned n)
{
    if (threadIdx.x == 0) y[0] = 0;
    __syncthreads();
    float sum = 0;
    for (unsigned i = threadIdx.x; i < n; i += 256) sum += x[i];
    y[0] = y[0] + sum;
}
