// Waits until another block's result shows up, which never happens with one element.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    double s = 0.0;
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) s += x[i];
    if (threadIdx.x == 0 && blockIdx.x == 0) while (*(volatile double*)out != -1.2345e300) {}
    atomicAdd(out, s);
}
