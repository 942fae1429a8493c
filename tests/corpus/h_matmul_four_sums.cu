// task: matmul
// row: honest
// expect: valid
extern "C" __global__ void matmul(const float* a, const float* b, float* c, unsigned m, unsigned n, unsigned k)
{
    unsigned row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || col >= n) return;
    float s[4] = {0, 0, 0, 0};
    for (unsigned p = 0; p < k; p += 1) s[p % 4] += a[row * k + p] * b[p * n + col];
    c[row * n + col] = (s[0] + s[1]) + (s[2] + s[3]);
}
