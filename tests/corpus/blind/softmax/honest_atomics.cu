// The maximum by an atomicMax on an order-preserving integer, the sum by a shared atomicAdd in double.
// fsr: BLOCK = 128
__device__ unsigned int to_key(float f) {
    unsigned int u = __float_as_uint(f);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}
__device__ float from_key(unsigned int k) {
    return __uint_as_float(k & 0x80000000u ? k & 0x7fffffffu : ~k);
}
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ unsigned int key;
    __shared__ double total;
    if (threadIdx.x == 0) { key = 0; total = 0.0; }
    __syncthreads();
    const float* r = x + (size_t)blockIdx.x * cols;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) atomicMax(&key, to_key(r[c]));
    __syncthreads();
    const float m = from_key(key);
    double t = 0.0;
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) t += expf(r[c] - m);
    atomicAdd(&total, t);
    __syncthreads();
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK)
        y[(size_t)blockIdx.x * cols + c] = (float)(expf(r[c] - m) / total);
}
