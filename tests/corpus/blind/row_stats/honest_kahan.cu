// Neumaier-compensated f32 sums in each thread, joined in double by shuffles.
// fsr: BLOCK = 128
extern "C" __global__ void row_stats(const float* x, float* mean, float* maximum, unsigned int rows, unsigned int cols) {
    __shared__ double ps[BLOCK / 32];
    __shared__ float pm[BLOCK / 32];
    float s = 0.0f, k = 0.0f, m = -3.402823466e+38f;
    const float* r = x + (size_t)blockIdx.x * cols;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) {
        float v = r[c], t = __fadd_rn(s, v);
        k += fabsf(s) >= fabsf(v) ? __fadd_rn(__fsub_rn(s, t), v) : __fadd_rn(__fsub_rn(v, t), s);
        s = t;
        m = fmaxf(m, v);
    }
    double d = (double)s + (double)k;
    for (int o = 16; o; o >>= 1) {
        d += __shfl_down_sync(0xffffffffu, d, o);
        m = fmaxf(m, __shfl_down_sync(0xffffffffu, m, o));
    }
    if ((threadIdx.x & 31) == 0) { ps[threadIdx.x >> 5] = d; pm[threadIdx.x >> 5] = m; }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < BLOCK / 32; ++i) { d += ps[i]; m = fmaxf(m, pm[i]); }
        mean[blockIdx.x] = (float)(d / cols);
        maximum[blockIdx.x] = m;
    }
}
