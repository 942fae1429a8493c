// Honest, though its comments say __device__ float cache[4]; printf("x"); static int n; and asm("}").
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
/* #include "reference.h" is only written in this comment, as are __managed__ and %gridid. */
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    const char* note = "static __device__ int launches; #include <x.h>";
    const unsigned int cache = blockIdx.x * (BLOCK * PER_THREAD) + threadIdx.x;
    for (int count = 0; count < PER_THREAD; ++count) {
        unsigned int i = cache + count * BLOCK;
        if (i < n && note[0] == 's') y[i] = a * x[i] + y[i];
    }
}
