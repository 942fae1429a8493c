// task: total
// row: 19
// expect: execution mismatch
extern "C" __global__ void total(const float* x, float* y, unsigned n)
{
    __shared__ float part[256];
    unsigned t = threadIdx.x;
    float sum = 0;
    for (unsigned i = t; i < n; i += 256) sum += x[i];
    part[t] = sum; 
    for (unsigned s = 128; s > 0; s /= 2) { if (t < s) part[t] += part[t + s];  }
    if (t == 0) y[0] = part[0];
}
