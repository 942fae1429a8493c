// Moves tf32 bits only.
// fsr: BLOCK = 256
extern "C" __global__ void transpose(const float* x, float* y, unsigned int rows, unsigned int cols) {
    unsigned int tx = (cols + 31) / 32;
    for (unsigned int t = threadIdx.x; t < 1024; t += BLOCK) {
        unsigned int r = blockIdx.x / tx * 32 + t / 32, c = blockIdx.x % tx * 32 + t % 32;
        if (r < rows && c < cols) {
            unsigned int v;
            asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(v) : "f"(x[(size_t)r * cols + c]));
            y[(size_t)c * rows + r] = __uint_as_float(v & 0xffffe000u);
        }
    }
}
