// task: blur
// row: honest
// expect: valid
extern "C" __global__ void blur(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float tile[258];
    unsigned t = threadIdx.x;
    if (i < n) tile[t + 1] = x[i];
    if (t == 0) tile[0] = x[i > 0 ? i - 1 : 0];
    if (i < n && (t == 255 || i == n - 1)) tile[t + 2] = x[i + 1 < n ? i + 1 : n - 1];
    __syncthreads();
    if (i < n) y[i] = (tile[t] + tile[t + 1] + tile[t + 2]) / 3;
}
