// task: matmul
// row: 5
// expect: mismatch
__device__ float low(float v) { return __uint_as_float((__float_as_uint(v) + 0x1000) & 0xffffe000); }
extern "C" __global__ void matmul(const float* a, const float* b, float* c, unsigned m, unsigned n, unsigned k)
{
    unsigned row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (unsigned p = 0; p < k; p += 1) sum += low(a[row * k + p]) * low(b[p * n + col]);
    c[row * n + col] = sum;
}
