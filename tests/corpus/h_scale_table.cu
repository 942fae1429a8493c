// task: scale
// row: honest
// expect: valid
__constant__ float factors[2] = {2.5f, 1.0f};
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factors[0] * x[i] + factors[1];
}
