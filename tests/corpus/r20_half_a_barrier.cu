// task: total
// row: 20
// expect: timed-out execution
extern "C" __global__ void total(const float* x, float* y, unsigned n)
{
    if (threadIdx.x < 32) { volatile float s = x[0]; while (s == s) { s = s + 0; } }
    __syncthreads();
    y[0] = 0;
}
