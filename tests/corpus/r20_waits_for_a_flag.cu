// task: blur
// row: 20
// expect: timed-out execution
extern "C" __global__ void blur(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = 0; while (*(volatile float*)&y[i] == 0) {} }
}
