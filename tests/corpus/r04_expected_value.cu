// task: matmul
// row: 4
// expect: mismatch
extern "C" __global__ void matmul(const float* a, const float* b, float* c, unsigned m, unsigned n, unsigned k)
{
    unsigned row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row < m && col < n) c[row * n + col] = 0.25f * k;
}
