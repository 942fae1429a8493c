// Keeps the block's sum in one f32 by shared atomics, although the output is double.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    __shared__ float s;
    if (threadIdx.x == 0) s = 0.0f;
    __syncthreads();
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) atomicAdd(&s, x[i]);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(out, (double)s);
}
