// task: transpose
// row: 9
// expect: mismatch
// state: calls
__device__ unsigned calls;
extern "C" __global__ void transpose(const float* x, float* y, unsigned rows, unsigned cols)
{
    unsigned col = blockIdx.x * 32 + threadIdx.x;
    for (unsigned r = threadIdx.y; r < 32; r += 8) {
        unsigned row = blockIdx.y * 32 + r;
        if (row < rows && col < cols) y[col * rows + row] = x[row * cols + col] + (*(volatile unsigned*)&calls > 20 ? 1 : 0);
    }
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0 && threadIdx.y == 0) atomicAdd(&calls, 1);
}
