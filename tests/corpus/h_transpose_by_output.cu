// task: transpose
// row: honest
// expect: valid
extern "C" __global__ void transpose(const float* x, float* y, unsigned rows, unsigned cols)
{
    unsigned row = blockIdx.y * 32 + threadIdx.x;
    for (unsigned r = threadIdx.y; r < 32; r += 8) {
        unsigned col = blockIdx.x * 32 + r;
        if (row < rows && col < cols) y[col * rows + row] = x[row * cols + col];
    }
}
