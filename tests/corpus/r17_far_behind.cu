// task: transpose
// row: 17
// expect: out-of-bounds execution
extern "C" __global__ void transpose(const float* x, float* y, unsigned rows, unsigned cols)
{
    unsigned col = blockIdx.x * 32 + threadIdx.x;
    for (unsigned r = threadIdx.y; r < 32; r += 8) {
        unsigned row = blockIdx.y * 32 + r;
        if (row < rows && col < cols) y[col * rows + row] = x[row * cols + col];
    }
    if (blockIdx.x + blockIdx.y + threadIdx.x + threadIdx.y == 0) y[rows * cols + 1000] = 1;
}
