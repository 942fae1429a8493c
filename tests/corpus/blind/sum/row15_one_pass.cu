// Four elements a thread and no loop, enough for 65536 elements only.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    double s = 0.0;
    for (unsigned int k = 0; k < 4; ++k) { unsigned int i = (k * BLOCKS + blockIdx.x) * BLOCK + threadIdx.x; if (i < n) s += x[i]; }
    atomicAdd(out, s);
}
