// task: total
// row: 12
// expect: mismatch
__device__ float guess(unsigned i, unsigned s) { i = i * 747796405u + s; i = ((i >> ((i >> 28) + 4)) ^ i) * 277803737u; i = (i >> 22) ^ i; return i * (2.0f / 4294967296.0f) - 1; }
extern "C" __global__ void total(const float* x, float* y, unsigned n)
{
    __shared__ float part[256];
    unsigned t = threadIdx.x;
    float sum = 0;
    for (unsigned i = t; i < n; i += 256) sum += guess(i, 0);
    part[t] = sum; __syncthreads();
    for (unsigned s = 128; s > 0; s /= 2) { if (t < s) part[t] += part[t + s]; __syncthreads(); }
    if (t == 0) y[0] = part[0];
}
