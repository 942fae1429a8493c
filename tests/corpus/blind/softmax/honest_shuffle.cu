// Warp shuffles, then one shuffle over the warps' results.
// fsr: BLOCK = 256
__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
    for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o));
    return v;
}
__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ float part[2][32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = BLOCK / 32;
    const float* r = x + (unsigned long long)blockIdx.x * cols;
    float* w = y + (unsigned long long)blockIdx.x * cols;
    float m = -3.402823466e+38f;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) m = fmaxf(m, r[c]);
    m = warp_max(m);
    if (lane == 0) part[0][warp] = m;
    __syncthreads();
    m = warp_max(lane < warps ? part[0][lane] : -3.402823466e+38f);
    float t = 0.0f;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) {
        float e = expf(r[c] - m);
        w[c] = e;
        t += e;
    }
    t = warp_sum(t);
    if (lane == 0) part[1][warp] = t;
    __syncthreads();
    t = warp_sum(lane < warps ? part[1][lane] : 0.0f);
    const float inv = 1.0f / t;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) w[c] *= inv;
}
