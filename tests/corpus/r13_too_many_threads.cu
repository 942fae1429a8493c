// task: scale
// row: 13
// expect: launch
extern "C" __global__ void __launch_bounds__(64) scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.5f * x[i] + 1;
}
