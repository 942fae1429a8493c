// Uses dynamic shared memory although the launch gives it none.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern __shared__ double dyn[];
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    double s = 0.0;
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) s += x[i];
    dyn[threadIdx.x + 32768] = s;
    __syncthreads();
    if (threadIdx.x == 0) { for (int k = 1; k < BLOCK; ++k) s += dyn[k + 32768]; atomicAdd(out, s); }
}
