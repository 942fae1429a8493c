// The last step of each block is a plain addition to *out.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    __shared__ double s[BLOCK];
    double t = 0.0;
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) t += x[i];
    s[threadIdx.x] = t;
    __syncthreads();
    for (int o = BLOCK / 2; o; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; __syncthreads(); }
    if (threadIdx.x == 0 && s[0] != 0.0) *out += s[0];
}
