// task: softmax
// row: 16
// expect: mismatch
extern "C" __global__ void softmax(const float* x, float* y, unsigned rows, unsigned cols)
{
    unsigned row = blockIdx.x, t = threadIdx.x;
    x += (unsigned long long)row * cols; y += (unsigned long long)row * cols;
    __shared__ float part[128];
    float top = -__int_as_float(0x7f800000);
    for (unsigned c = t; c < cols; c += 128) top = fmaxf(top, x[c]);
    part[t] = top; __syncthreads();
    for (unsigned s = 64; s > 0; s /= 2) { if (t < s) part[t] = fmaxf(part[t], part[t + s]); __syncthreads(); }
    top = part[0]; __syncthreads();
    float sum = 0;
    for (unsigned c = t; c < cols; c += 128) if (c < 512) sum += expf(x[c] - top);
    part[t] = sum; __syncthreads();
    for (unsigned s = 64; s > 0; s /= 2) { if (t < s) part[t] += part[t + s]; __syncthreads(); }
    sum = part[0];
    for (unsigned c = t; c < cols; c += 128) y[c] = expf(x[c] - top) / sum;
}
