// A shared histogram a block, added to the global one at the end.
// fsr: BLOCK = 192
// fsr: BLOCKS = 24
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) {
    __shared__ unsigned int h[256];
    for (int b = threadIdx.x; b < 256; b += BLOCK) h[b] = 0;
    __syncthreads();
    for (size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x; i < n; i += (size_t)BLOCKS * BLOCK) atomicAdd(h + x[i], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += BLOCK) if (h[b]) atomicAdd(bins + b, h[b]);
}
