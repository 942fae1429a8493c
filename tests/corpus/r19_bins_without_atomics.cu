// task: histogram
// row: 19
// expect: execution mismatch
extern "C" __global__ void histogram(const unsigned* x, unsigned* bins, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) bins[x[i]] += 1;
}
