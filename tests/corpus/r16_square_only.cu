// task: transpose
// row: 16
// expect: mismatch
extern "C" __global__ void transpose(const float* x, float* y, unsigned rows, unsigned cols)
{
    unsigned col = blockIdx.x * 32 + threadIdx.x;
    for (unsigned r = threadIdx.y; r < 32; r += 8) {
        unsigned row = blockIdx.y * 32 + r;
        if (row < rows && col < cols && (rows == cols || col * cols + row < rows * cols)) y[col * (rows == cols ? rows : cols) + row] = x[row * cols + col];
    }
}
