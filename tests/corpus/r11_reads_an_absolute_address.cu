// task: blur
// row: 11
// expect: execution
extern "C" __global__ void blur(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = ((const float*)0x7f0000000000)[i];
}
