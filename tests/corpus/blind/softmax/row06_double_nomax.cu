// Uses a double exponential without the maximum, which lasts until 709.
// fsr: BLOCK = 128
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ double total;
    if (threadIdx.x == 0) total = 0.0;
    __syncthreads();
    const float* r = x + (size_t)blockIdx.x * cols;
    double t = 0.0;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) t += exp((double)r[c]);
    atomicAdd(&total, t);
    __syncthreads();
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) y[(size_t)blockIdx.x * cols + c] = (float)(exp((double)r[c]) / total);
}
