// One row a block, three passes over it: maximum, sum, result.
//
// fsr: BLOCK = 256
// fsr: ROWS_PER_BLOCK = 1
// fsr: SHARED_BYTES = 1024

extern __shared__ float shared[];

extern "C" __global__ void softmax_rows(const float* input, float* output, unsigned int rows, unsigned int cols)
{
    const size_t row = blockIdx.x;
    const float* in = input + row * cols;
    float* out = output + row * cols;
    const unsigned int thread = threadIdx.x;

    float largest = __int_as_float(0xff800000);  // -infinity
    for (unsigned int col = thread; col < cols; col += BLOCK) {
        largest = fmaxf(largest, in[col]);
    }
    shared[thread] = largest;
    __syncthreads();
    for (unsigned int width = BLOCK / 2; width > 0; width /= 2) {
        if (thread < width) {
            shared[thread] = fmaxf(shared[thread], shared[thread + width]);
        }
        __syncthreads();
    }
    largest = shared[0];
    __syncthreads();

    float sum = 0.0f;
    for (unsigned int col = thread; col < cols; col += BLOCK) {
        sum += expf(in[col] - largest);
    }
    shared[thread] = sum;
    __syncthreads();
    for (unsigned int width = BLOCK / 2; width > 0; width /= 2) {
        if (thread < width) {
            shared[thread] += shared[thread + width];
        }
        __syncthreads();
    }
    sum = shared[0];

    for (unsigned int col = thread; col < cols; col += BLOCK) {
        out[col] = expf(in[col] - largest) / sum;
    }
}
