// Each block sums a contiguous chunk, unrolled by four, and adds by an atomicCAS loop.
// fsr: BLOCK = 96
// fsr: BLOCKS = 7
__device__ void add_cas(double* p, double v) {
    unsigned long long* q = (unsigned long long*)p;
    unsigned long long old = *q, seen;
    do {
        seen = old;
        old = atomicCAS(q, seen, (unsigned long long)__double_as_longlong(v + __longlong_as_double((long long)seen)));
    } while (old != seen);
}
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    __shared__ double w[BLOCK / 32];
    unsigned int chunk = n / BLOCKS + (n % BLOCKS != 0);
    unsigned long long lo = (unsigned long long)blockIdx.x * chunk, hi = lo + chunk < n ? lo + chunk : n;
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    unsigned long long i = lo + threadIdx.x;
    for (; i + 3 * BLOCK < hi; i += 4 * BLOCK) { s0 += x[i]; s1 += x[i + BLOCK]; s2 += x[i + 2 * BLOCK]; s3 += x[i + 3 * BLOCK]; }
    for (; i < hi; i += BLOCK) s0 += x[i];
    s0 = (s0 + s1) + (s2 + s3);
    for (int o = 16; o; o >>= 1) s0 += __shfl_xor_sync(~0u, s0, o);
    if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = s0;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < BLOCK / 32; ++k) s0 += w[k];
        add_cas(out, s0);
    }
}
