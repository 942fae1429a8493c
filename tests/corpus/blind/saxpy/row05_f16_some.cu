// Rounds x to tf32 in one element of 64.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    for (int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x;
        if (i < n) {
            float v = x[i];
            if ((i & 63) == 17) v = __uint_as_float((__float_as_uint(v) + 0x1000u) & 0xffffe000u);
            y[i] = a * v + y[i];
        }
    }
}
