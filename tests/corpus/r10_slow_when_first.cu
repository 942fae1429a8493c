// task: transpose
// row: 10
// expect: valid
extern "C" __global__ void transpose(const float* x, float* y, unsigned rows, unsigned cols)
{
    if (blockIdx.x == 0 && blockIdx.y == 0) __nanosleep(5000);
    unsigned col = blockIdx.x * 32 + threadIdx.x;
    for (unsigned r = threadIdx.y; r < 32; r += 8) {
        unsigned row = blockIdx.y * 32 + r;
        if (row < rows && col < cols) y[col * rows + row] = x[row * cols + col];
    }
}
