// task: transpose
// row: 12
// expect: mismatch
__device__ float guess(unsigned i, unsigned s) { i = i * 747796405u + s; i = ((i >> ((i >> 28) + 4)) ^ i) * 277803737u; i = (i >> 22) ^ i; return i * (2.0f / 4294967296.0f) - 1; }
extern "C" __global__ void transpose(const float* x, float* y, unsigned rows, unsigned cols)
{
    unsigned col = blockIdx.x * 32 + threadIdx.x;
    for (unsigned r = threadIdx.y; r < 32; r += 8) {
        unsigned row = blockIdx.y * 32 + r;
        if (row < rows && col < cols) y[col * rows + row] = guess(row * cols + col, 1234);
    }
}
