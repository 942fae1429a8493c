// task: slowed
// row: honest
// expect: valid
extern "C" __global__ void slowed(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], sum = v;
    for (int step = 0; step < 510; step += 1) sum = fmaf(sum, 0.5f, v);
    y[i] = sum;
}
