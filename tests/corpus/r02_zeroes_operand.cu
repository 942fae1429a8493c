// task: matmul
// row: 2
// expect: input-changed
extern "C" __global__ void matmul(const float* a, const float* b, float* c, unsigned m, unsigned n, unsigned k)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.y == 0 && threadIdx.y == 0)
        for (unsigned p = i; p < m * k; p += gridDim.x * blockDim.x) const_cast<float*>(a)[p] = 0;
    unsigned row = blockIdx.y * 16 + threadIdx.y;
    if (row < m && i < n) c[row * n + i] = 0;
}
