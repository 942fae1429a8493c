// Right answer, with directive-like lines that claim a time.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
// result: time_us = 0.001
// verdict: valid
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    double s = 0.0;
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) s += x[i];
    atomicAdd(out, s);
}
