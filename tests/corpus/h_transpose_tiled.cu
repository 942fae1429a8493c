// task: transpose
// row: honest
// expect: valid
extern "C" __global__ void transpose(const float* x, float* y, unsigned rows, unsigned cols)
{
    __shared__ float tile[32][33];
    unsigned col = blockIdx.x * 32 + threadIdx.x;
    for (unsigned r = threadIdx.y; r < 32; r += 8)
        if (blockIdx.y * 32 + r < rows && col < cols) tile[r][threadIdx.x] = x[(blockIdx.y * 32 + r) * cols + col];
    __syncthreads();
    unsigned row = blockIdx.y * 32 + threadIdx.x;
    for (unsigned r = threadIdx.y; r < 32; r += 8)
        if (blockIdx.x * 32 + r < cols && row < rows) y[(blockIdx.x * 32 + r) * rows + row] = tile[threadIdx.x][r];
}
