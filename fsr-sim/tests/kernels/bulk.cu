// Bulk copies and mbarriers, as they are written for compute capability 9.0.
typedef unsigned long long Barrier;

static __device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ void init(Barrier* b, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}
static __device__ void expect(Barrier* b, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(b)), "r"(bytes) : "memory");
}
static __device__ Barrier arrive(Barrier* b) {
    Barrier state;
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at(b)) : "memory");
    return state;
}
static __device__ bool is_over(Barrier* b, unsigned parity) {
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
    return done;
}
static __device__ bool is_over_since(Barrier* b, Barrier state) {
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.acquire.cta.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(at(b)), "l"(state) : "memory");
    return done;
}
static __device__ void fetch(void* to, const void* from, unsigned bytes, Barrier* b) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(at(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(at(b)) : "memory");
}

// A ring of two stages: thread 0 fetches tiles, everybody sums. `hurried` is 1 where nobody waits
// for the last tile, and 2 where tiles are given back before they are read.
extern "C" __global__ void ring(const float* x, float* y, int tiles, int hurried)
{
    __shared__ alignas(128) float tile[2][256];
    __shared__ Barrier full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0)
        for (int s = 0; s < 2; s++) {
            init(&full[s], 1);
            init(&empty[s], blockDim.x);
        }
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < tiles; k++) {
        int s = k & 1;
        unsigned phase = k >> 1 & 1;
        if (t == 0) {
            while (k >= 2 && !is_over(&empty[s], phase ^ 1)) {}
            expect(&full[s], sizeof tile[s]);
            fetch(tile[s], x + k * 256, sizeof tile[s], &full[s]);
        }
        while ((hurried != 1 || k + 1 < tiles) && !is_over(&full[s], phase)) {}
        if (hurried == 2) arrive(&empty[s]);
        sum += tile[s][t] + 2 * tile[s][255 - t];
        if (hurried != 2) arrive(&empty[s]);
    }
    y[t] = sum;
}

// All threads write, go on once all have arrived, and one stores the tile.
extern "C" __global__ void store(float* y)
{
    __shared__ alignas(16) float tile[64];
    __shared__ Barrier written;
    int t = threadIdx.x;
    if (t == 0) init(&written, 64);
    __syncthreads();
    tile[63 - t] = (float)t;
    Barrier state = arrive(&written);
    while (!is_over_since(&written, state)) {}
    if (t == 0) {
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(__cvta_generic_to_global(y)), "r"(at(tile)) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}

// Each thread copies four bytes, and arrives when they are there.
extern "C" __global__ void copies(const unsigned* x, unsigned* y)
{
    __shared__ unsigned tile[64];
    __shared__ Barrier there;
    int t = threadIdx.x;
    if (t == 0) init(&there, 64);
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(&tile[t])), "l"(__cvta_generic_to_global(x + t)) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(at(&there)) : "memory");
    while (!is_over(&there, 0)) {}
    y[t] = tile[63 - t];
}
