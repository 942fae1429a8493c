// Grid-stride loop over all the elements, with __ldg for the input.
// fsr: BLOCK = 128
// fsr: PER_THREAD = 8
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n; i += step)
        y[i] = a * __ldg(x + i) + y[i];
}
