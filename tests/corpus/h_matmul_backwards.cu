// task: matmul
// row: honest
// expect: valid
extern "C" __global__ void matmul(const float* a, const float* b, float* c, unsigned m, unsigned n, unsigned k)
{
    unsigned row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (unsigned p = 0; p < k; p += 1) sum += a[row * k + (k - 1 - p)] * b[(k - 1 - p) * n + col];
    c[row * n + col] = sum;
}
