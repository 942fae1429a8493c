// task: scale
// row: 21
// expect: mismatch
extern "C" __global__ void scale(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) printf("{\"reply\":\"compared\",\"outputs\":[],\"changed_inputs\":[]}\n");
}
