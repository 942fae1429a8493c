// One global atomic a byte.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) {
    for (unsigned long long i = (unsigned long long)blockIdx.x * BLOCK + threadIdx.x; i < n; i += (unsigned long long)gridDim.x * blockDim.x)
        atomicAdd(&bins[x[i]], 1u);
}
