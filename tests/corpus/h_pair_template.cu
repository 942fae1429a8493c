// task: pair
// row: honest
// expect: valid
template <typename T> __device__ T twice(T v) { return v + v; }
extern "C" __global__ void pair(const float* x, float* y, float* z, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = twice(x[i]); z[i] = x[i] * x[i]; }
}
