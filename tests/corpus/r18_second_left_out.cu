// task: pair
// row: 18
// expect: mismatch
extern "C" __global__ void pair(const float* x, float* y, float* z, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = 2 * x[i];  }
}
