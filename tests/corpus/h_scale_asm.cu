// task: scale
// row: honest
// expect: valid
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float r; asm("fma.rn.f32 %0, %1, 0f40200000, 0f3F800000;" : "=f"(r) : "f"(x[i])); y[i] = r; }
}
