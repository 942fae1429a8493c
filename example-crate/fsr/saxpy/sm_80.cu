// idea: one float4 pair a thread in small 128-thread blocks that turn over smoothly, 256-byte L2 fetches for both streams, default caching otherwise
//
// fsr: BLOCK = 128
// fsr: PER_THREAD = 4

#define TILE (BLOCK * PER_THREAD)

static_assert(PER_THREAD == 4, "each thread does one float4");
static_assert(BLOCK >= 64 && 2048 % BLOCK == 0, "at most 32 blocks fill an SM");
static_assert(TILE * 4 % 256 == 0, "a 256-byte fetch stays inside the tile");

__device__ __forceinline__ float4 load_x(const float4* p)
{
    float4 v;
    asm volatile("ld.global.nc.L2::256B.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(p));
    return v;
}

__device__ __forceinline__ float4 load_y(const float4* p)
{
    float4 v;
    asm volatile("ld.global.L2::256B.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}

extern "C" __global__ void __launch_bounds__(BLOCK, 2048 / BLOCK)
saxpy(unsigned long long n, float a, const float* x, float* y)
{
    const unsigned long long base = (unsigned long long)blockIdx.x * TILE;

    if (base + TILE <= n) {
        // Buffers are aligned to 256 bytes and tiles are multiples of that: 16-byte aligned,
        // and the 256 bytes around each access lie in this block's own tile.
        float4* yp = reinterpret_cast<float4*>(y + base) + threadIdx.x;
        const float4 xv = load_x(reinterpret_cast<const float4*>(x + base) + threadIdx.x);
        float4 yv = load_y(yp);
        yv.x = fmaf(a, xv.x, yv.x);
        yv.y = fmaf(a, xv.y, yv.y);
        yv.z = fmaf(a, xv.z, yv.z);
        yv.w = fmaf(a, xv.w, yv.w);
        *yp = yv;
    } else {
        // Only the last block comes here.
        for (unsigned long long i = base + threadIdx.x; i < n; i += BLOCK) {
            y[i] = fmaf(a, x[i], y[i]);
        }
    }
}
