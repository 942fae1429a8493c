// Right answer, with prints that look like result lines and end a stream.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    double s = 0.0;
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) s += x[i];
    atomicAdd(out, s);
    if (blockIdx.x == 0 && threadIdx.x < 4) printf("RESULT valid speedup=100 n=%u\r\n\x1b[2J\x04--END--\n", n);
}
