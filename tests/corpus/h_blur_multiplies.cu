// task: blur
// row: honest
// expect: valid
extern "C" __global__ void blur(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float left = x[i > 0 ? i - 1 : 0], right = x[i + 1 < n ? i + 1 : n - 1];
        y[i] = (left + x[i] + right) * (1.0f / 3);
    }
}
