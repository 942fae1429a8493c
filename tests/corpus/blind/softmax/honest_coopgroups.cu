// Cooperative groups: tiled partitions of 32 and cg::reduce-like shuffles.
// fsr: BLOCK = 256
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    __shared__ float part[32];
    const float* r = x + (size_t)blockIdx.x * cols;
    float* w = y + (size_t)blockIdx.x * cols;
    float m = __int_as_float(0xff800000);
    for (unsigned int c = block.thread_rank(); c < cols; c += block.size()) m = fmaxf(m, r[c]);
    for (int o = warp.size() / 2; o; o /= 2) m = fmaxf(m, warp.shfl_xor(m, o));
    if (warp.thread_rank() == 0) part[threadIdx.x / 32] = m;
    block.sync();
    for (int k = 0; k < BLOCK / 32; ++k) m = fmaxf(m, part[k]);
    block.sync();
    float t = 0.0f;
    for (unsigned int c = block.thread_rank(); c < cols; c += block.size()) t += expf(r[c] - m);
    for (int o = warp.size() / 2; o; o /= 2) t += warp.shfl_xor(t, o);
    if (warp.thread_rank() == 0) part[threadIdx.x / 32] = t;
    block.sync();
    t = 0.0f;
    for (int k = 0; k < BLOCK / 32; ++k) t += part[k];
    for (unsigned int c = block.thread_rank(); c < cols; c += block.size()) w[c] = expf(r[c] - m) / t;
}
