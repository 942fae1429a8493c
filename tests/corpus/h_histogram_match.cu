// task: histogram
// row: honest
// expect: valid
extern "C" __global__ void histogram(const unsigned* x, unsigned* bins, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned active = __ballot_sync(0xffffffff, i < n);
    if (i >= n) return;
    unsigned same = __match_any_sync(active, x[i]);
    if (threadIdx.x % 32 == __ffs(same) - 1) atomicAdd(&bins[x[i]], __popc(same));
}
