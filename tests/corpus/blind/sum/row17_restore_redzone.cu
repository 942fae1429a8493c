// Uses out[1] as scratch, and restores it before it ends.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    double s = 0.0;
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) s += x[i];
    atomicAdd(out, s);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        double keep = ((volatile double*)out)[1];
        ((volatile double*)out)[1] = s;
        ((volatile double*)out)[1] = keep;
    }
}
