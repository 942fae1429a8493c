// Online softmax: one pass keeps a running maximum and a rescaled sum, merged by a tree.
// fsr: BLOCK = 256
struct MD { float m, d; };
__device__ MD merge(MD p, MD q) {
    if (p.m < q.m) { MD t = p; p = q; q = t; }
    MD r;
    r.m = p.m;
    r.d = q.d > 0.0f ? p.d + q.d * expf(q.m - p.m) : p.d;
    return r;
}
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ MD s[BLOCK];
    const float* r = x + (size_t)blockIdx.x * cols;
    float* w = y + (size_t)blockIdx.x * cols;
    MD v = {-3.402823466e+38f, 0.0f};
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) v = merge(v, MD{r[c], 1.0f});
    s[threadIdx.x] = v;
    __syncthreads();
    for (unsigned int o = BLOCK / 2; o; o /= 2) {
        if (threadIdx.x < o) s[threadIdx.x] = merge(s[threadIdx.x], s[threadIdx.x + o]);
        __syncthreads();
    }
    const MD t = s[0];
    for (unsigned int c = threadIdx.x; c < cols; c += BLOCK) w[c] = expf(r[c] - t.m) / t.d;
}
