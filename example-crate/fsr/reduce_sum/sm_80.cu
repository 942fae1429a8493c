// Every thread sums with a stride of the whole grid; each block folds its sums in shared memory and adds once.
//
// fsr: BLOCKS = 1056

extern "C" __global__ void reduce_sum(const float* input, unsigned long long n, float* sum)
{
    __shared__ float partial[BLOCK];
    const unsigned int thread = threadIdx.x;

    float mine = 0.0f;
    for (unsigned long long i = (unsigned long long)blockIdx.x * BLOCK + thread; i < n;
         i += (unsigned long long)BLOCKS * BLOCK) {
        mine += input[i];
    }
    partial[thread] = mine;
    __syncthreads();
    for (unsigned int width = BLOCK / 2; width > 0; width /= 2) {
        if (thread < width) {
            partial[thread] += partial[thread + width];
        }
        __syncthreads();
    }
    if (thread == 0) {
        atomicAdd(sum, partial[0]);
    }
}
