// Peels scalar elements until y is 16-byte aligned, then float4 stores, then a scalar tail.
// fsr: BLOCK = 512
// fsr: PER_THREAD = 8
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    const unsigned long long lo = (unsigned long long)blockIdx.x * (BLOCK * PER_THREAD);
    unsigned long long hi = lo + BLOCK * PER_THREAD;
    if (hi > n) hi = n;
    float* p = y + lo;
    const float* q = x + lo;
    unsigned int len = (unsigned int)(hi - lo);
    unsigned int head = (unsigned int)((16 - ((unsigned long long)p & 15)) & 15) / 4;
    if (head > len) head = len;
    if (threadIdx.x < head) p[threadIdx.x] += a * q[threadIdx.x];
    unsigned int body = (len - head) / 4;
    for (unsigned int j = threadIdx.x; j < body; j += BLOCK) {
        float4* d = reinterpret_cast<float4*>(p + head) + j;
        const float* u = q + head + 4 * j;
        float4 v = *d;
        v.x += a * u[0]; v.y += a * u[1]; v.z += a * u[2]; v.w += a * u[3];
        *d = v;
    }
    for (unsigned int j = head + body * 4 + threadIdx.x; j < len; j += BLOCK) p[j] += a * q[j];
}
