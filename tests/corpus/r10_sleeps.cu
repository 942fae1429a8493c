// task: scale
// row: 10
// expect: valid
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) __nanosleep(2000);
    if (i < n) y[i] = 2.5f * x[i] + 1;
}
