// task: total
// row: 13
// expect: load compile launch
extern "C" __global__ void total(const float* x, float* y, unsigned n)
{
    __shared__ float all[80000];
    for (unsigned i = threadIdx.x; i < 80000; i += 256) all[i] = i < n ? x[i] : 0;
    __syncthreads();
    if (threadIdx.x == 0) { float sum = 0; for (unsigned i = 0; i < 80000; i += 1) sum += all[i]; y[0] = sum; }
}
