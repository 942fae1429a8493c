// task: blur
// row: honest
// expect: valid
extern "C" __global__ void blur(const float* x, float* y, unsigned n)
{
    for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        float sum = 0;
        for (int d = -1; d <= 1; d += 1) { long long at = (long long)i + d; sum += x[at < 0 ? 0 : at >= n ? n - 1 : at]; }
        y[i] = sum / 3;
    }
}
