// task: softmax
// row: honest
// expect: valid
extern "C" __global__ void softmax(const float* x, float* y, unsigned rows, unsigned cols)
{
    unsigned row = blockIdx.x, t = threadIdx.x;
    x += (unsigned long long)row * cols; y += (unsigned long long)row * cols;
    __shared__ float tops[128], sums[128];
    float top = -3e38f, sum = 0;
    for (unsigned c = t; c < cols; c += 128) {
        float v = x[c], more = fmaxf(top, v);
        sum = sum * expf(top - more) + expf(v - more);
        top = more;
    }
    tops[t] = top; sums[t] = sum; __syncthreads();
    for (unsigned s = 64; s > 0; s /= 2) {
        if (t < s) {
            float more = fmaxf(tops[t], tops[t + s]);
            sums[t] = sums[t] * expf(tops[t] - more) + sums[t + s] * expf(tops[t + s] - more);
            tops[t] = more;
        }
        __syncthreads();
    }
    for (unsigned c = t; c < cols; c += 128) y[c] = expf(x[c] - tops[0]) / sums[0];
}
