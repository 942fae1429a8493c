// Lanes with equal bytes find one another by __match_any_sync; one of them adds.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) {
    const unsigned int lane = threadIdx.x & 31;
    for (unsigned long long b = (unsigned long long)blockIdx.x * BLOCK + (threadIdx.x & ~31u); b < n; b += (unsigned long long)BLOCK * BLOCKS) {
        unsigned long long i = b + lane;
        int v = i < n ? x[i] : 256;
        unsigned int peers = __match_any_sync(0xffffffffu, v);
        if (v < 256 && __ffs(peers) - 1 == (int)lane) atomicAdd(&bins[v], __popc(peers));
    }
}
