// task: softmax
// row: 3
// expect: mismatch
extern "C" __global__ void softmax(const float* x, float* y, unsigned rows, unsigned cols)
{
    for (unsigned c = threadIdx.x; c < cols; c += 128) y[blockIdx.x * cols + c] = 1.0f / cols;
}
