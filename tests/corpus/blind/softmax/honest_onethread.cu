// Thread 0 does the two reductions alone in double; all the threads write.
// fsr: BLOCK = 64
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ float m;
    __shared__ double t;
    const float* r = x + (size_t)blockIdx.x * cols;
    if (threadIdx.x == 0) {
        float q = r[0];
        for (unsigned int c = 1; c < cols; ++c) q = r[c] > q ? r[c] : q;
        double u = 0.0;
        for (unsigned int c = 0; c < cols; ++c) u += (double)expf(r[c] - q);
        m = q; t = u;
    }
    __syncthreads();
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK)
        y[(size_t)blockIdx.x * cols + c] = (float)((double)expf(r[c] - m) / t);
}
