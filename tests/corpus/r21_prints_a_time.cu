// task: transpose
// row: 21
// expect: mismatch
extern "C" __global__ void transpose(const float* x, float* y, unsigned rows, unsigned cols)
{
    if (threadIdx.x == 0) printf("{\"reply\":\"launched\",\"nanos\":1.0,\"wall_nanos\":1.0,\"redzones\":[]}\n");
}
