// task: blur
// row: 13
// expect: launch
extern "C" __global__ void __launch_bounds__(32) blur(const float* x, float* y, unsigned n)
{
    asm volatile("");
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float left = x[i > 0 ? i - 1 : 0], right = x[i + 1 < n ? i + 1 : n - 1];
        y[i] = (left + x[i] + right) / 3;
    }
}
