// Block 0 alone sums everything; thread 0 stores without an atomic, since *out starts at 0.
// fsr: BLOCK = 1024
// fsr: BLOCKS = 4
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    if (blockIdx.x != 0) return;
    __shared__ double s[32];
    double t = 0.0;
    for (unsigned long long i = threadIdx.x; i < n; i += BLOCK) t += x[i];
    for (int o = 16; o; o >>= 1) t += __shfl_down_sync(~0u, t, o);
    if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = t;
    __syncthreads();
    if (threadIdx.x < 32) {
        t = s[threadIdx.x];
        for (int o = 16; o; o >>= 1) t += __shfl_down_sync(~0u, t, o);
        if (threadIdx.x == 0) *out += t;
    }
}
