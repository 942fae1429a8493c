// Each thread moves four elements of the tile directly.
// fsr: BLOCK = 256
extern "C" __global__ void transpose(const float* x, float* y, unsigned int rows, unsigned int cols) {
    unsigned int tx = (cols + 31) / 32;
    unsigned int c = (blockIdx.x % tx) * 32 + threadIdx.x % 32;
    for (unsigned int k = threadIdx.x / 32; k < 32; k += 8) {
        unsigned int r = (blockIdx.x / tx) * 32 + k;
        if (r < rows && c < cols) y[(size_t)c * rows + r] = x[(size_t)r * cols + c];
    }
}
