// Shared trees for both outputs at once, sums in double.
// fsr: BLOCK = 256
extern "C" __global__ void row_stats(const float* x, float* mean, float* maximum, unsigned int rows, unsigned int cols) {
    __shared__ double s[BLOCK];
    __shared__ float m[BLOCK];
    const unsigned int t = threadIdx.x;
    double a = 0.0;
    float b = -__int_as_float(0x7f800000);
    for (size_t c = t; c < cols; c += BLOCK) {
        float v = x[(size_t)blockIdx.x * cols + c];
        a += v;
        b = v > b ? v : b;
    }
    s[t] = a; m[t] = b;
    for (unsigned int o = BLOCK / 2; o > 0; o >>= 1) {
        __syncthreads();
        if (t < o) { s[t] += s[t + o]; m[t] = fmaxf(m[t], m[t + o]); }
    }
    if (t == 0) { mean[blockIdx.x] = (float)(s[0] / (double)cols); maximum[blockIdx.x] = m[0]; }
}
