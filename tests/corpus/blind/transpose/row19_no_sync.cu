// Leaves out the barrier between filling and reading the tile.
// fsr: BLOCK = 256
extern "C" __global__ void transpose(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ float tile[32][33];
    unsigned int tx = (cols + 31) / 32, r0 = blockIdx.x / tx * 32, c0 = blockIdx.x % tx * 32, l = threadIdx.x & 31, w = threadIdx.x >> 5;
    for (unsigned int k = w; k < 32; k += 8) if (r0 + k < rows && c0 + l < cols) tile[k][l] = x[(size_t)(r0 + k) * cols + c0 + l];
    for (unsigned int k = w; k < 32; k += 8) if (c0 + k < cols && r0 + l < rows) y[(size_t)(c0 + k) * rows + r0 + l] = tile[l][k];
}
