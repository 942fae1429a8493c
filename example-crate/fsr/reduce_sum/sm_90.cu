// idea: hybrid one-shot tiles: half of each 32 KiB tile by bulk copy into shared memory, half by 16-byte loads into registers, both in flight at once
//
// fsr: BLOCKS = 8192

constexpr unsigned int STAGES = 2;
constexpr unsigned int STAGE_VECTORS = 512;
constexpr unsigned int STAGE_BYTES = STAGE_VECTORS * 16;
constexpr unsigned int COPIED_VECTORS = STAGES * STAGE_VECTORS;
constexpr unsigned int LOADED_VECTORS = 1024;
constexpr unsigned int LOADS = LOADED_VECTORS / BLOCK;  // 8, 4, 2 or 1 a thread.
constexpr unsigned int TILE_VECTORS = COPIED_VECTORS + LOADED_VECTORS;
constexpr unsigned int TILE_FLOATS = TILE_VECTORS * 4;

static __device__ __forceinline__ unsigned int shared_address(const void* p)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(p));
}

static __device__ __forceinline__ void fetch(
    unsigned int to, const float4* from, unsigned int barrier, unsigned long long policy)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(STAGE_BYTES) : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
            "r"(to),
        "l"(__cvta_generic_to_global(from)), "r"(STAGE_BYTES), "r"(barrier), "l"(policy)
        : "memory");
}

static __device__ __forceinline__ void wait(unsigned int barrier, unsigned int parity)
{
    unsigned int done = 0;
    while (!done) {
        asm volatile(
            "{\n\t"
            ".reg .pred p;\n\t"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
            "selp.u32 %0, 1, 0, p;\n\t"
            "}"
            : "=r"(done)
            : "r"(barrier), "r"(parity)
            : "memory");
    }
}

// Volatile, so that it is issued before the barrier that follows it.
static __device__ __forceinline__ float4 load(const float4* from)
{
    float4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(from));
    return v;
}

static __device__ __forceinline__ float across(const float4& v)
{
    return (v.x + v.y) + (v.z + v.w);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
reduce_sum(const float* input, unsigned long long n, float* sum)
{
    __shared__ __align__(128) float4 tile[STAGES][STAGE_VECTORS];
    __shared__ __align__(8) unsigned long long full[STAGES];
    __shared__ float partial[BLOCK / 32];
    const unsigned int thread = threadIdx.x;
    const unsigned int block = blockIdx.x;

    // Block b takes tiles b, b + BLOCKS, ...; what is left after the last whole tile goes to the block next in turn.
    const unsigned long long tiles = n / TILE_FLOATS;
    const unsigned int count = tiles > block ? static_cast<unsigned int>((tiles - block - 1) / BLOCKS + 1) : 0;
    const bool has_rest = block == static_cast<unsigned int>(tiles % BLOCKS) && n % TILE_FLOATS != 0;
    if (count == 0 && !has_rest) {
        return;  // The whole block: nothing to add.
    }

    unsigned long long policy = 0;
    if (thread == 0) {
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#pragma unroll
        for (unsigned int s = 0; s < STAGES; ++s) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[s])) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }

    const float4* from = reinterpret_cast<const float4*>(input) + block * TILE_VECTORS;
    float mine = 0.0f;
    for (unsigned int k = 0; k < count; ++k) {
        if (thread == 0) {
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#pragma unroll
            for (unsigned int s = 0; s < STAGES; ++s) {
                fetch(shared_address(tile[s]), from + s * STAGE_VECTORS, shared_address(&full[s]), policy);
            }
        }
        float4 v[LOADS];
#pragma unroll
        for (unsigned int i = 0; i < LOADS; ++i) {
            v[i] = load(from + COPIED_VECTORS + i * BLOCK + thread);
        }
        __syncthreads();  // The barriers are initialized, and seen so by all.

        float loaded = 0.0f;
#pragma unroll
        for (unsigned int i = 0; i < LOADS; ++i) {
            loaded += across(v[i]);
        }
        float copied = 0.0f;
#pragma unroll
        for (unsigned int s = 0; s < STAGES; ++s) {
            wait(shared_address(&full[s]), k & 1);
#pragma unroll
            for (unsigned int i = thread; i < STAGE_VECTORS; i += BLOCK) {
                copied += across(tile[s][i]);
            }
        }
        mine += loaded + copied;
        if (k + 1 < count) {  // Only for inputs of more than one tile a block.
            __syncthreads();  // All have read the tile: it may be filled again.
            from += static_cast<unsigned long long>(BLOCKS) * TILE_VECTORS;
        }
    }

    if (has_rest) {
        for (unsigned long long i = tiles * TILE_FLOATS + thread; i < n; i += BLOCK) {
            mine += input[i];
        }
    }

#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        mine += __shfl_xor_sync(0xffffffffu, mine, step);
    }
    if (thread % 32 == 0) {
        partial[thread / 32] = mine;
    }
    __syncthreads();
    if (thread < 32) {
        float all = thread < BLOCK / 32 ? partial[thread] : 0.0f;
#pragma unroll
        for (int step = BLOCK / 64; step > 0; step /= 2) {
            all += __shfl_xor_sync(0xffffffffu, all, step);
        }
        if (thread == 0) {
            atomicAdd(sum, all);
        }
    }
}
