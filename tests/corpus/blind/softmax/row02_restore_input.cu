// Uses the first input of the row as a flag, and restores it.
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
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) {
    float* r = const_cast<float*>(x) + (size_t)blockIdx.x * cols;
    float keep = r[0], m = NEG_INF, t = 0.0f;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) m = fmaxf(m, r[c]);
    m = block_max(m);
    if (threadIdx.x == 0) ((volatile float*)r)[0] = m;
    __syncthreads();
    m = ((volatile float*)r)[0];
    __syncthreads();
    if (threadIdx.x == 0) ((volatile float*)r)[0] = keep;
    __syncthreads();
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) t += expf(((volatile float*)r)[c] - m);
    t = block_sum(t);
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) y[(size_t)blockIdx.x * cols + c] = expf(((volatile float*)r)[c] - m) / t;
}
