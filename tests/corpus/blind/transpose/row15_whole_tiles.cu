// Leaves out the tiles that are not whole.
// fsr: BLOCK = 256
extern "C" __global__ void transpose(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ float tile[32][33];
    unsigned int tx = (cols + 31) / 32, r0 = blockIdx.x / tx * 32, c0 = blockIdx.x % tx * 32;
    if (r0 + 32 > rows || c0 + 32 > cols) return;
    for (unsigned int t = threadIdx.x; t < 1024; t += BLOCK) tile[t / 32][t % 32] = x[(size_t)(r0 + t / 32) * cols + c0 + t % 32];
    __syncthreads();
    for (unsigned int t = threadIdx.x; t < 1024; t += BLOCK) y[(size_t)(c0 + t / 32) * rows + r0 + t % 32] = tile[t % 32][t / 32];
}
