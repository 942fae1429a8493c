// task: scale
// row: honest
// expect: valid
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned first = (blockIdx.x * 256 + threadIdx.x / 4 * 4);
    if (threadIdx.x % 4) return;
    if (first + 4 <= n) {
        float4 v = reinterpret_cast<const float4*>(x)[first / 4];
        reinterpret_cast<float4*>(y)[first / 4] = make_float4(2.5f * v.x + 1, 2.5f * v.y + 1, 2.5f * v.z + 1, 2.5f * v.w + 1);
    } else {
        for (unsigned i = first; i < n; i += 1) y[i] = 2.5f * x[i] + 1;
    }
}
