// Keeps the row's exponentials in shared memory when it is short enough, else recomputes them.
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
#define CAP 4096
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ float e[CAP];
    const float* r = x + (size_t)blockIdx.x * cols;
    float* w = y + (size_t)blockIdx.x * cols;
    float m = NEG_INF, t = 0.0f;
    const bool fits = cols <= CAP;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) {
        float v = r[c];
        if (fits) e[c] = v;
        m = fmaxf(m, v);
    }
    m = block_max(m);
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) {
        float v = expf((fits ? e[c] : r[c]) - m);
        if (fits) e[c] = v;
        t += v;
    }
    t = block_sum(t);
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) w[c] = (fits ? e[c] : expf(r[c] - m)) / t;
}
