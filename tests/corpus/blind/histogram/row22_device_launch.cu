// Launches a child grid by the triple angle brackets.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
__global__ void child(const unsigned char* x, unsigned int* bins, unsigned int n) { for (unsigned int i = threadIdx.x; i < n; i += 256) atomicAdd(&bins[x[i]], 1u); }
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) { if (blockIdx.x == 0 && threadIdx.x == 0) child<<<1, 256>>>(x, bins, n); }
