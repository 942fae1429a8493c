// task: blur
// row: honest
// expect: valid
extern "C" __global__ void blur(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float here = x[i < n ? i : n - 1];
    float left = __shfl_up_sync(0xffffffff, here, 1), right = __shfl_down_sync(0xffffffff, here, 1);
    if (threadIdx.x % 32 == 0) left = i == 0 ? here : x[min(i, n) - 1];
    if (threadIdx.x % 32 == 31) right = x[i + 1 < n ? i + 1 : n - 1];
    if (i < n) y[i] = (left + here + right) / 3;
}
