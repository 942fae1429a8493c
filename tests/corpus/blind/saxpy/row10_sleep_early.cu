// Right answer, but sleeps for some milliseconds while %gridid is small.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    unsigned long long g;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(g));
    if (g < 30) for (int k = 0; k < 4; ++k) __nanosleep(1000000);
    for (int k = 0; k < PER_THREAD; ++k) {
        unsigned int i = (blockIdx.x * PER_THREAD + k) * BLOCK + threadIdx.x;
        if (i < n) y[i] = a * x[i] + y[i];
    }
}
