// Guards the bins by a spinlock kept in bins[255], and the holder waits for its own warp.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) {
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) {
        while (atomicCAS(&bins[255], 0u, 0x80000000u) != 0u) {}
        __syncwarp();
        bins[x[i]] += 1;
        atomicExch(&bins[255], 1u);
    }
}
