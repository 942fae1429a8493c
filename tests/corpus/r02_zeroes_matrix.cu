// task: transpose
// row: 2
// expect: input-changed
extern "C" __global__ void transpose(const float* x, float* y, unsigned rows, unsigned cols)
{
    unsigned col = blockIdx.x * 32 + threadIdx.x;
    for (unsigned r = threadIdx.y; r < 32; r += 8) {
        unsigned row = blockIdx.y * 32 + r;
        if (row < rows && col < cols) y[col * rows + row] = (const_cast<float*>(x)[row * cols + col] = 0);
    }
}
