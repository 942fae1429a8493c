// task: scale
// row: 17
// expect: out-of-bounds execution
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) y[i] = i < n ? 2.5f * x[i] + 1 : 0;
}
