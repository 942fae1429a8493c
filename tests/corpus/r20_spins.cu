// task: scale
// row: 20
// expect: timed-out execution
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    while (*(volatile const float*)x == *(volatile const float*)x) {}
    if (i < n) y[i] = 2.5f * x[i] + 1;
}
