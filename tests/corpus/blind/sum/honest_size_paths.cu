// Small inputs go to one warp, large ones to the whole grid; both are right.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    double s = 0.0;
    if (n <= 32) {
        if (blockIdx.x || threadIdx.x >= 32) return;
        if (threadIdx.x < n) s = x[threadIdx.x];
    } else {
        for (unsigned long long i = blockIdx.x * (unsigned long long)BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) s += x[i];
    }
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
    if (threadIdx.x % 32 == 0) atomicAdd(out, s);
}
