// task: scale
// row: 2
// expect: input-changed
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = 2.5f * x[i] + 1; if (i == n - 1) const_cast<float*>(x)[i] += 1; }
}
