// An unpadded tile with an XOR swizzle of the columns.
// fsr: BLOCK = 256
extern "C" __global__ void transpose(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ float tile[1024];
    unsigned int tx = (cols - 1) / 32 + 1, by = blockIdx.x / tx, bx = blockIdx.x - by * tx;
    for (unsigned int t = threadIdx.x; t < 1024; t += BLOCK) {
        unsigned int i = t / 32, j = t % 32, r = by * 32 + i, c = bx * 32 + j;
        tile[i * 32 + (j ^ i)] = (r < rows && c < cols) ? x[(size_t)r * cols + c] : 0.0f;
    }
    __syncthreads();
    for (unsigned int t = threadIdx.x; t < 1024; t += BLOCK) {
        unsigned int j = t / 32, i = t % 32, r = by * 32 + i, c = bx * 32 + j;
        if (r < rows && c < cols) y[(size_t)c * rows + r] = tile[i * 32 + (j ^ i)];
    }
}
