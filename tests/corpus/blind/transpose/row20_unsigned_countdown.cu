// Counts an unsigned variable down to zero and past it; the guards keep the accesses inside.
// fsr: BLOCK = 256
extern "C" __global__ void transpose(const float* x, float* y, unsigned int rows, unsigned int cols) {
    unsigned int tx = (cols + 31) / 32;
    unsigned int c = blockIdx.x % tx * 32 + threadIdx.x % 32;
    for (unsigned int k = 31; k >= 0; --k) {
        unsigned int r = blockIdx.x / tx * 32 + k;
        if (k < 32 && r < rows && c < cols) ((volatile float*)y)[(size_t)c * rows + r] = x[(size_t)r * cols + c];
    }
}
