// task: scale
// row: 2
// expect: input-changed
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { const_cast<float*>(x)[i] = 0; y[i] = 1; }
}
