// Transposes rightly, then the last tile's thread 0 negates the last input.
// fsr: BLOCK = 256
extern "C" __global__ void transpose(const float* x, float* y, unsigned int rows, unsigned int cols) {
    unsigned int tx = (cols + 31) / 32;
    for (unsigned int t = threadIdx.x; t < 1024; t += BLOCK) {
        unsigned int r = blockIdx.x / tx * 32 + t / 32, c = blockIdx.x % tx * 32 + t % 32;
        if (r < rows && c < cols) y[(size_t)c * rows + r] = x[(size_t)r * cols + c];
    }
    __syncthreads();
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) const_cast<float*>(x)[(size_t)rows * cols - 1] *= -1.0f;
}
