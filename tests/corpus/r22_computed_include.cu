// task: scale
// row: 22
// expect: compile
#define WHERE "/etc/hostname"
#include WHERE
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.5f * x[i] + 1;
}
