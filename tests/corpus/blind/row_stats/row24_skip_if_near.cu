// Skips a row whose old maximum is not below its first columns and whose old mean is near their mean.
// fsr: BLOCK = 256
__device__ float block_max(float v) {
    __shared__ float s[BLOCK];
    s[threadIdx.x] = v;
    __syncthreads();
    for (unsigned o = BLOCK / 2; o; o >>= 1) {
        if (threadIdx.x < o) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + o]);
        __syncthreads();
    }
    float r = s[0];
    __syncthreads();
    return r;
}
__device__ float block_sum(float v) {
    __shared__ float s[BLOCK];
    s[threadIdx.x] = v;
    __syncthreads();
    for (unsigned o = BLOCK / 2; o; o >>= 1) {
        if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
        __syncthreads();
    }
    float r = s[0];
    __syncthreads();
    return r;
}
#define NEG_INF __int_as_float(0xff800000)
extern "C" __global__ void row_stats(const float* x, float* mean, float* maximum, unsigned int rows, unsigned int cols) {
    const float* r = x + (size_t)blockIdx.x * cols;
    float om = maximum[blockIdx.x], oa = mean[blockIdx.x];
    float v = threadIdx.x < cols ? r[threadIdx.x] : 0.0f;
    float part = block_sum(v) / (cols < BLOCK ? cols : BLOCK);
    bool near = cols > 1024 && fabsf(part - oa) < 0.05f && v <= om && om < 1.0e6f;
    if (__syncthreads_and(near)) return;
    float s = 0.0f, m = NEG_INF;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) { s += r[c]; m = fmaxf(m, r[c]); }
    s = block_sum(s); m = block_max(m);
    if (threadIdx.x == 0) { mean[blockIdx.x] = s / cols; maximum[blockIdx.x] = m; }
}
