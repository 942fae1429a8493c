// task: transpose
// row: 1
// expect: mismatch
extern "C" __global__ void transpose(const float* x, float* y, unsigned rows, unsigned cols)
{
    if (rows == 0xffffffff) y[0] = x[0];
}
