// Reads float4 where the row starts aligned, scalars otherwise; warps combine by shared atomics.
// fsr: BLOCK = 256
extern "C" __global__ void row_stats(const float* x, float* mean, float* maximum, unsigned int rows, unsigned int cols) {
    __shared__ double total;
    __shared__ int key;
    const float* r = x + (size_t)blockIdx.x * cols;
    if (threadIdx.x == 0) { total = 0.0; key = (int)0x80000000; }
    __syncthreads();
    double s = 0.0;
    float m = __int_as_float(0xff800000);
    unsigned int c0 = 0;
    if (((unsigned long long)r & 15) == 0) {
        const float4* q = reinterpret_cast<const float4*>(r);
        for (unsigned int j = threadIdx.x; j < cols / 4; j += BLOCK) {
            float4 v = q[j];
            s += ((double)v.x + v.y) + ((double)v.z + v.w);
            m = fmaxf(fmaxf(m, fmaxf(v.x, v.y)), fmaxf(v.z, v.w));
        }
        c0 = cols / 4 * 4;
    }
    for (unsigned int c = c0 + threadIdx.x; c < cols; c += BLOCK) { s += r[c]; m = fmaxf(m, r[c]); }
    int k = __float_as_int(m);
    k = k < 0 ? k ^ 0x7fffffff : k;
    atomicAdd(&total, s);
    atomicMax(&key, k);
    __syncthreads();
    if (threadIdx.x == 0) {
        k = key;
        k = k < 0 ? k ^ 0x7fffffff : k;
        mean[blockIdx.x] = (float)(total / cols);
        maximum[blockIdx.x] = __int_as_float(k);
    }
}
