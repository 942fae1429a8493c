// Regenerates the inputs by SplitMix64 from seed 42 instead of reading them.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    double s = 0.0;
    for (unsigned long long i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) {
        unsigned long long z = 42ull + (i + 1) * 0x9e3779b97f4a7c15ull;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        z ^= z >> 31;
        s += (float)(z >> 40) * (1.0f / 16777216.0f) * 2.0f - 1.0f;
    }
    atomicAdd(out, s);
}
