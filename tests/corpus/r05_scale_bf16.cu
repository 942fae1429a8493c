// task: scale
// row: 5
// expect: mismatch
__device__ float low(float v) { return __uint_as_float((__float_as_uint(v) + 0x8000) & 0xffff0000); }
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.5f * low(x[i]) + 1;
}
