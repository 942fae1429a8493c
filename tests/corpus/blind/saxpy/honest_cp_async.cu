// Stages x through shared memory by cp.async, four bytes a thread.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 2
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    __shared__ float s[PER_THREAD][BLOCK];
    unsigned int base = blockIdx.x * (BLOCK * PER_THREAD) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = base + k * BLOCK;
        if (i < n) {
            unsigned int d = (unsigned int)__cvta_generic_to_shared(&s[k][threadIdx.x]);
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(d), "l"(x + i) : "memory");
        }
    }
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = base + k * BLOCK;
        if (i < n) y[i] += a * s[k][threadIdx.x];
    }
}
