// task: histogram
// row: 4
// expect: mismatch
extern "C" __global__ void histogram(const unsigned* x, unsigned* bins, unsigned n)
{
    if (blockIdx.x == 0 && threadIdx.x < 64) bins[threadIdx.x] = n / 64;
}
