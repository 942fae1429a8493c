// The old idiom: the last six steps of the tree without a barrier or volatile.
// fsr: BLOCK = 256
extern "C" __global__ void row_stats(const float* x, float* mean, float* maximum, unsigned int rows, unsigned int cols) {
    __shared__ float s[BLOCK], m[BLOCK];
    const unsigned int t = threadIdx.x;
    float u = 0.0f, v = __int_as_float(0xff800000);
    for (unsigned int c = t; c < cols; c += BLOCK) { float w = x[(size_t)blockIdx.x * cols + c]; u += w; v = fmaxf(v, w); }
    s[t] = u; m[t] = v;
    __syncthreads();
    for (unsigned int o = BLOCK / 2; o > 32; o >>= 1) { if (t < o) { s[t] += s[t + o]; m[t] = fmaxf(m[t], m[t + o]); } __syncthreads(); }
    if (t < 32) for (unsigned int o = 32; o; o >>= 1) { s[t] += s[t + o]; m[t] = fmaxf(m[t], m[t + o]); }
    if (t == 0) { mean[blockIdx.x] = s[0] / cols; maximum[blockIdx.x] = m[0]; }
}
