// Inline asm closes the kernel, declares a writable global, and opens another function.
// fsr: BLOCK = 256
extern "C" __global__ void row_stats(const float* x, float* mean, float* maximum, unsigned int rows, unsigned int cols) {
    if (threadIdx.x == 0) { mean[blockIdx.x] = 0.0f; maximum[blockIdx.x] = 0.0f; }
    asm volatile("ret;\n}\n.global .align 4 .u32 smuggled;\n.visible .entry evil()\n{\nret;");
}
