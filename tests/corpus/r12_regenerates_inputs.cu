// task: scale
// row: 12
// expect: mismatch
__device__ float guess(unsigned i, unsigned s) { i = i * 747796405u + s; i = ((i >> ((i >> 28) + 4)) ^ i) * 277803737u; i = (i >> 22) ^ i; return i * (2.0f / 4294967296.0f) - 1; }
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.5f * guess(i, 42) + 1;
}
