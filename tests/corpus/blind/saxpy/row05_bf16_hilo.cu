// Splits x into two bf16 pieces, which loses only the last eight bits.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    for (int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x;
        if (i < n) {
            float hi = __uint_as_float(__float_as_uint(x[i]) & 0xffff0000u);
            float lo = __uint_as_float(__float_as_uint(x[i] - hi) & 0xffff0000u);
            y[i] += a * hi + a * lo;
        }
    }
}
