// Reuses the slot of the maximum for the sum without a barrier.
// fsr: BLOCK = 256
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ float s[BLOCK];
    const float* r = x + (size_t)blockIdx.x * cols;
    float m = __int_as_float(0xff800000), t = 0.0f;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) m = fmaxf(m, r[c]);
    s[threadIdx.x] = m;
    __syncthreads();
    for (int o = BLOCK / 2; o; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + o]); __syncthreads(); }
    m = s[0];
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) t += expf(r[c] - m);
    s[threadIdx.x] = t;
    __syncthreads();
    for (int o = BLOCK / 2; o; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; __syncthreads(); }
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) y[(size_t)blockIdx.x * cols + c] = expf(r[c] - m) / s[0];
}
