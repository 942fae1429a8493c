extern "C" __global__ void pi(unsigned long long* hits, int per_thread) {
    unsigned s = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u + 12345u;
    unsigned h = 0;
    for (int i = 0; i < per_thread; ++i) {
        s = s * 1664525u + 1013904223u; float x = (s >> 8) * (1.f / 16777216.f);
        s = s * 1664525u + 1013904223u; float y = (s >> 8) * (1.f / 16777216.f);
        h += x * x + y * y < 1.f;
    }
    unsigned b = __ballot_sync(0xffffffffu, h & 1);
    atomicAdd(hits, (unsigned long long)h + (b & 0));
}
