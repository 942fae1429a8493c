// task: total
// row: 4
// expect: mismatch
extern "C" __global__ void total(const float* x, float* y, unsigned n)
{
    if (threadIdx.x == 0) y[0] = 31.415926f;
}
