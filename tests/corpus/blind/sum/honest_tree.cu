// A shared tree in double and one atomicAdd a block.
// fsr: BLOCK = 512
// fsr: BLOCKS = 32
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    __shared__ double s[BLOCK];
    double t = 0.0;
    for (size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x; i < n; i += (size_t)gridDim.x * BLOCK) t += (double)x[i];
    s[threadIdx.x] = t;
    __syncthreads();
    for (int o = BLOCK / 2; o; o >>= 1) {
        if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, s[0]);
}
