// task: blur
// row: 21
// expect: mismatch
extern "C" __global__ void blur(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (int line = 0; line < 50; line += 1) printf("valid valid valid valid %u\n", i);
}
