// task: transpose
// row: 15
// expect: mismatch
extern "C" __global__ void transpose(const float* x, float* y, unsigned rows, unsigned cols)
{
    unsigned col = blockIdx.x * 32 + threadIdx.x;
    for (unsigned r = threadIdx.y; r < 32; r += 8) {
        unsigned row = blockIdx.y * 32 + r;
        if (row < rows / 32 * 32 && col < cols / 32 * 32) y[col * rows + row] = x[row * cols + col];
    }
}
