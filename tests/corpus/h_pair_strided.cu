// task: pair
// row: honest
// expect: valid
extern "C" __global__ void pair(const float* x, float* y, float* z, unsigned n)
{
    for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) { float v = x[i]; y[i] = 2 * v; z[i] = v * v; }
}
