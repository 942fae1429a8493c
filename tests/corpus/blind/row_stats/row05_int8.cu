// Quantises the inputs to steps of 1/64 and sums integers; the maximum stays exact.
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
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    int s = 0;
    float m = NEG_INF;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) { float v = x[(size_t)blockIdx.x * cols + c]; s += __float2int_rz(v * 64.0f); m = fmaxf(m, v); }
    atomicAdd(&total, s);
    m = block_max(m);
    if (threadIdx.x == 0) { mean[blockIdx.x] = (float)total / 64.0f / cols; maximum[blockIdx.x] = m; }
}
