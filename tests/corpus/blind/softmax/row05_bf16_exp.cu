// Keeps the exponentials in bf16 in shared scratch, with the sum in f32.
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
__device__ float bf(float v) { return __uint_as_float((__float_as_uint(v) + 0x8000u) & 0xffff0000u); }
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) {
    const float* r = x + (size_t)blockIdx.x * cols;
    float m = NEG_INF, t = 0.0f;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) m = fmaxf(m, r[c]);
    m = block_max(m);
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) t += bf(expf(r[c] - m));
    t = block_sum(t);
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) y[(size_t)blockIdx.x * cols + c] = bf(expf(r[c] - m)) / t;
}
