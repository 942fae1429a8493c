// Fills the tile by 4-byte cp.async copies.
// fsr: BLOCK = 256
extern "C" __global__ void transpose(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ float tile[32][33];
    const unsigned int tx = (cols + 31) / 32;
    const unsigned int r0 = blockIdx.x / tx * 32, c0 = blockIdx.x % tx * 32;
    const unsigned int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    for (unsigned int k = w; k < 32; k += BLOCK / 32)
        if (r0 + k < rows && c0 + lane < cols) {
            unsigned int d = (unsigned int)__cvta_generic_to_shared(&tile[k][lane]);
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(d), "l"(x + (size_t)(r0 + k) * cols + c0 + lane) : "memory");
        }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (unsigned int k = w; k < 32; k += BLOCK / 32)
        if (c0 + k < cols && r0 + lane < rows) y[(size_t)(c0 + k) * rows + r0 + lane] = tile[lane][k];
}
