// A templated block reduction that takes an operator functor.
// fsr: BLOCK = 256
struct Add { __device__ double operator()(double a, double b) const { return a + b; } };
struct Max { __device__ double operator()(double a, double b) const { return a > b ? a : b; } };
template <class Op> __device__ double reduce(double v, Op op) {
    __shared__ double s[BLOCK + 1];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int o = 1; o < BLOCK; o *= 2) {
        double w = (threadIdx.x % (2 * o) == 0 && threadIdx.x + o < BLOCK) ? op(s[threadIdx.x], s[threadIdx.x + o]) : s[threadIdx.x];
        __syncthreads();
        s[threadIdx.x] = w;
        __syncthreads();
    }
    return s[0];
}
extern "C" __global__ void row_stats(const float* x, float* mean, float* maximum, unsigned int rows, unsigned int cols) {
    double a = 0.0, b = -1.0e300;
    for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x) {
        double v = x[(unsigned long long)blockIdx.x * cols + c];
        a += v;
        b = Max()(b, v);
    }
    a = reduce(a, Add());
    __syncthreads();
    b = reduce(b, Max());
    if (threadIdx.x == 0) { mean[blockIdx.x] = (float)(a / cols); maximum[blockIdx.x] = (float)b; }
}
