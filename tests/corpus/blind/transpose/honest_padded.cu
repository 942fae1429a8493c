// A shared tile of 32 x 33, so that no two lanes hit one bank.
// fsr: BLOCK = 256
extern "C" __global__ void transpose(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ float tile[32][33];
    const unsigned int tx = (cols + 31) / 32;
    const unsigned int r0 = blockIdx.x / tx * 32, c0 = blockIdx.x % tx * 32;
    const unsigned int lane = threadIdx.x & 31, wy = threadIdx.x >> 5;
#pragma unroll
    for (int k = 0; k < 32; k += 8)
        if (r0 + wy + k < rows && c0 + lane < cols) tile[wy + k][lane] = x[(size_t)(r0 + wy + k) * cols + c0 + lane];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; k += 8)
        if (c0 + wy + k < cols && r0 + lane < rows) y[(size_t)(c0 + wy + k) * rows + r0 + lane] = tile[lane][wy + k];
}
