// task: matmul
// row: honest
// expect: valid
extern "C" __global__ void matmul(const float* a, const float* b, float* c, unsigned m, unsigned n, unsigned k)
{
    __shared__ float ta[16][16], tb[16][17];
    unsigned tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0;
    for (unsigned p = 0; p < k; p += 16) {
        ta[ty][tx] = row < m && p + tx < k ? a[row * k + p + tx] : 0;
        tb[ty][tx] = p + ty < k && col < n ? b[(p + ty) * n + col] : 0;
        __syncthreads();
        for (unsigned q = 0; q < 16; q += 1) sum = fmaf(ta[ty][q], tb[q][tx], sum);
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}
