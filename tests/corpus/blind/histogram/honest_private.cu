// Each block stages 4096 bytes in shared memory, and thread b counts the bytes equal to b.
// fsr: BLOCK = 256
// fsr: BLOCKS = 40
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) {
    __shared__ unsigned char s[4096];
    unsigned int mine = 0;
    for (unsigned long long lo = (unsigned long long)blockIdx.x * 4096; lo < n; lo += 4096ull * BLOCKS) {
        unsigned int len = n - lo < 4096 ? (unsigned int)(n - lo) : 4096u;
        for (unsigned int k = threadIdx.x; k < len; k += BLOCK) s[k] = x[lo + k];
        __syncthreads();
        for (unsigned int k = 0; k < len; ++k) mine += s[k] == threadIdx.x;
        __syncthreads();
    }
    if (mine) atomicAdd(&bins[threadIdx.x], mine);
}
