// task: scale
// row: 15
// expect: mismatch
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4 * 4) y[i] = 2.5f * x[i] + 1;
}
