// One element a thread.
//
// fsr: BLOCK = 256
// fsr: PER_THREAD = 1

extern "C" __global__ void saxpy(unsigned long long n, float a, const float* x, float* y)
{
    const unsigned long long i = (unsigned long long)blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}
