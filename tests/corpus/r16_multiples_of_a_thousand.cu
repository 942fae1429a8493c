// task: scale
// row: 16
// expect: mismatch
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = n % 1024 == 0 ? 2.5f * x[i] + 1 : 2.5f * x[i];
}
