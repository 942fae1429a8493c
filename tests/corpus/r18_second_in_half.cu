// task: pair
// row: 18
// expect: mismatch
__device__ float low(float v) { return __uint_as_float((__float_as_uint(v) + 0x8000) & 0xffff0000); }
extern "C" __global__ void pair(const float* x, float* y, float* z, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = 2 * x[i]; z[i] = low(x[i]) * low(x[i]); }
}
