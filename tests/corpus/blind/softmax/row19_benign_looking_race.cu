// Every thread works the maximum out alone and writes it to one shared word, without a barrier.
// fsr: BLOCK = 64
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ float m;
    __shared__ float t;
    const float* r = x + (size_t)blockIdx.x * cols;
    float q = r[0], u = 0.0f;
    for (unsigned int c = 1; c < cols; ++c) q = fmaxf(q, r[c]);
    m = q;
    for (unsigned int c = 0; c < cols; ++c) u += expf(r[c] - m);
    t = u;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) y[(size_t)blockIdx.x * cols + c] = expf(r[c] - m) / t;
}
