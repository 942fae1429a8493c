// idea: two warps a row at 80 registers: 24 resident warps and twelve rows an SM, small blocks, write-back stores
// fsr: BLOCK = 64
// fsr: ROWS_PER_BLOCK = 1
// fsr: SHARED_BYTES = 0

#define NEG_INF __int_as_float(0xff800000)
#define LOWEST (-3.402823466e+38f)  // start of a maximum: finite, so that no inf - inf arises
#define FULL_MASK 0xffffffffu

__device__ __forceinline__ float warp_max(float x)
{
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) x = fmaxf(x, __shfl_xor_sync(FULL_MASK, x, o));
    return x;
}

__device__ __forceinline__ float warp_sum(float x)
{
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) x += __shfl_xor_sync(FULL_MASK, x, o);
    return x;
}

// (maximum, sum) of a whole warp from each lane's own
__device__ __forceinline__ float2 warp_merge(float2 a)
{
    const float m = warp_max(a.x);
    return make_float2(m, warp_sum(a.y * __expf(a.x - m)));
}

// Rows of any length and alignment, `step` threads together: online maximum and sum, 16 bytes at a time.
__device__ __forceinline__ void add_one(float2& a, float x)
{
    const float m = fmaxf(a.x, x);
    a.y = a.y * __expf(a.x - m) + __expf(x - m);
    a.x = m;
}

__device__ __forceinline__ unsigned int head_of(size_t start, unsigned int cols)
{
    const unsigned int head = (4u - (unsigned int)(start & 3)) & 3u;
    return head < cols ? head : cols;
}

__device__ __noinline__ float2 stream_stats(const float* input, size_t start, unsigned int cols, unsigned int id,
                                            unsigned int step)
{
    const float* in = input + start;
    const unsigned int head = head_of(start, cols);
    const unsigned int quads = (cols - head) / 4;
    const unsigned int tail = head + quads * 4;
    const float4* body = reinterpret_cast<const float4*>(in + head);
    float2 a = make_float2(LOWEST, 0.0f);
    if (id < head) add_one(a, __ldg(in + id));
#pragma unroll 4
    for (unsigned int q = id; q < quads; q += step) {
        const float4 v = __ldg(body + q);
        const float m = fmaxf(a.x, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
        a.y = a.y * __expf(a.x - m) + ((__expf(v.x - m) + __expf(v.y - m)) + (__expf(v.z - m) + __expf(v.w - m)));
        a.x = m;
    }
    if (id < cols - tail) add_one(a, __ldg(in + tail + id));
    return a;
}

__device__ __noinline__ void stream_write(const float* input, float* output, size_t start, unsigned int cols,
                                          unsigned int id, unsigned int step, float2 total)
{
    const float* in = input + start;
    float* out = output + start;
    const unsigned int head = head_of(start, cols);
    const unsigned int quads = (cols - head) / 4;
    const unsigned int tail = head + quads * 4;
    const float4* body = reinterpret_cast<const float4*>(in + head);
    float4* to = reinterpret_cast<float4*>(out + head);
    const float m = total.x;
    const float f = 1.0f / total.y;
    if (id < head) out[id] = __expf(__ldg(in + id) - m) * f;
#pragma unroll 4
    for (unsigned int q = id; q < quads; q += step) {
        const float4 v = __ldg(body + q);
        __stcs(to + q, make_float4(__expf(v.x - m) * f, __expf(v.y - m) * f, __expf(v.z - m) * f,
                                   __expf(v.w - m) * f));
    }
    if (id < cols - tail) out[tail + id] = __expf(__ldg(in + tail + id) - m) * f;
}

static_assert(BLOCK == 64 && ROWS_PER_BLOCK == 1, "two warps a block, one row a block");

#define QUADS 16                       // float4 a thread
#define TILE_COLS (BLOCK * QUADS * 4)  // 4096

// (maximum, sum) of the block from its two warps'; one barrier, once a block.
__device__ __forceinline__ float2 block_merge(float2 a, float2* pairs)
{
    if ((threadIdx.x & 31u) == 0) pairs[threadIdx.x >> 5] = a;
    __syncthreads();
    const float2 p = pairs[0];
    const float2 q = pairs[1];
    const float m = fmaxf(p.x, q.x);
    return make_float2(m, p.y * __expf(p.x - m) + q.y * __expf(q.x - m));
}

template <bool WHOLE>
__device__ __forceinline__ void tile_row(const float* in_row, float* out_row, unsigned int quads, float2* pairs)
{
    const float4* in = reinterpret_cast<const float4*>(in_row) + threadIdx.x;
    float4* out = reinterpret_cast<float4*>(out_row) + threadIdx.x;
    float4 v[QUADS];
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        v[k] = make_float4(NEG_INF, NEG_INF, NEG_INF, NEG_INF);
        if (WHOLE || threadIdx.x + k * BLOCK < quads) v[k] = __ldcs(in + k * BLOCK);
    }
    float m = LOWEST;
#pragma unroll
    for (int k = 0; k < QUADS; ++k) m = fmaxf(m, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
    // Powers against the warp's own maximum, so that a single barrier merges both maximum and sum.
    m = warp_max(m);
    float s = 0.0f;
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        v[k].x = __expf(v[k].x - m);
        v[k].y = __expf(v[k].y - m);
        v[k].z = __expf(v[k].z - m);
        v[k].w = __expf(v[k].w - m);
        s += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    }
    const float2 total = block_merge(make_float2(m, warp_sum(s)), pairs);
    const float f = __fdividef(__expf(m - total.x), total.y);  // the sum is from 1 to 4096
    // Plain stores: the input leaves L2 first, and the output is written back when room is needed.
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        if (WHOLE || threadIdx.x + k * BLOCK < quads) {
            out[k * BLOCK] = make_float4(v[k].x * f, v[k].y * f, v[k].z * f, v[k].w * f);
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK, 12)
softmax_rows(const float* input, float* output, unsigned int rows, unsigned int cols)
{
    __shared__ float2 pairs[2];
    if (blockIdx.x >= rows) return;
    const size_t start = (size_t)blockIdx.x * cols;
    if (cols == TILE_COLS) {
        tile_row<true>(input + start, output + start, TILE_COLS / 4, pairs);
    } else if (cols < TILE_COLS && cols % 4 == 0) {
        tile_row<false>(input + start, output + start, cols / 4, pairs);
    } else {
        const float2 own = warp_merge(stream_stats(input, start, cols, threadIdx.x, BLOCK));
        const float2 total = block_merge(own, pairs);
        stream_write(input, output, start, cols, threadIdx.x, BLOCK, total);
    }
}
