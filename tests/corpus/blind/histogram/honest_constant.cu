// Uses a __constant__ permutation seed and a constexpr table only to pick the order of the bins.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
__constant__ unsigned int kStride[4] = {1u, 3u, 5u, 7u};
__device__ const unsigned int kOdd = 5u;
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) {
    __shared__ unsigned int h[256];
    for (unsigned int b = threadIdx.x; b < 256; b += BLOCK) h[b] = 0u;
    __syncthreads();
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) atomicInc(&h[__ldg(x + i)], 0xffffffffu);
    __syncthreads();
    for (unsigned int b = threadIdx.x; b < 256; b += BLOCK) {
        unsigned int p = (b * kStride[blockIdx.x & 3] * kOdd) & 255u;
        atomicAdd(bins + p, h[p]);
    }
}
