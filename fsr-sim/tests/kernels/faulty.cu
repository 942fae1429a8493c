#include <cassert>
#include <cuda_pipeline.h>
#define K extern "C" __global__ void

K off_by_one(unsigned* a) { a[threadIdx.x] = a[threadIdx.x + 1]; }
K shared_too_far(unsigned* a) {
    __shared__ unsigned s[64];
    s[threadIdx.x + 2048] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[63 - threadIdx.x];
}
K misaligned(unsigned* a) {
    float4 v = *reinterpret_cast<float4*>(a + 1 + 4 * threadIdx.x);
    a[threadIdx.x] = (unsigned)(v.x + v.y + v.z + v.w);
}
K wild(unsigned* a) { *reinterpret_cast<unsigned*>(reinterpret_cast<unsigned long long>(a) * 3 + 4) = 1; }
K traps(unsigned* a) { if (a[0] == 0) __trap(); }
K asserts(unsigned* a) { assert(threadIdx.x < 33); a[threadIdx.x] = 1; }
K uninitialised_shared(unsigned* a) {
    __shared__ unsigned s[64];
    if (threadIdx.x < 32) s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    a[threadIdx.x] = s[threadIdx.x];
}
K missing_barrier(unsigned* a) {
    __shared__ unsigned s[256];
    s[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = s[255 - threadIdx.x];
}
K with_barrier(unsigned* a) {
    __shared__ unsigned s[256];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[255 - threadIdx.x];
}
K missing_second_barrier(unsigned* a) {
    __shared__ unsigned s[256];
    unsigned sum = 0;
#pragma unroll 1
    for (int i = 0; i < 4; ++i) {
        s[threadIdx.x] = a[threadIdx.x] + i;
        __syncthreads();
        sum += s[(threadIdx.x + 32) % 256];
    }
    a[threadIdx.x] = sum;
}
K warp_synchronous(unsigned* a) {
    __shared__ unsigned s[32];
    s[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = s[31 - threadIdx.x];
}
K with_syncwarp(unsigned* a) {
    __shared__ unsigned s[32];
    s[threadIdx.x] = a[threadIdx.x];
    __syncwarp();
    a[threadIdx.x] = s[31 - threadIdx.x];
}
K cross_block(unsigned* a) { if (threadIdx.x == 0) a[0] = a[0] + 1; }
K cross_block_atomic(unsigned* a) { if (threadIdx.x == 0) atomicAdd(a, 1u); }
K divergent_barrier(unsigned* a) {
    if (threadIdx.x < 100) { a[threadIdx.x] = 1; __syncthreads(); a[threadIdx.x] = 2; }
    a[255 - threadIdx.x] += 3;
}
K early_exit_then_barrier(unsigned* a) {
    __shared__ unsigned s[256];
    if (threadIdx.x >= 100) return;
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[99 - threadIdx.x];
}
K missing_wait(uint4* a) {
    __shared__ uint4 s[32];
    __pipeline_memcpy_async(&s[threadIdx.x], &a[threadIdx.x], 16);
    __pipeline_commit();
    uint4 v = s[threadIdx.x];
    v.x += 1;
    __pipeline_wait_prior(0);
    a[threadIdx.x] = v;
}
K with_wait(uint4* a) {
    __shared__ uint4 s[32];
    __pipeline_memcpy_async(&s[threadIdx.x], &a[threadIdx.x], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    uint4 v = s[threadIdx.x];
    v.x += 1;
    a[threadIdx.x] = v;
}
K endless(volatile unsigned* a) { while (a[0] == 0) {} }
K spin_lock(unsigned* a) {
    bool done = false;
    while (!done) {
        if (atomicCAS(a, 0u, 1u) == 0u) {
            *reinterpret_cast<volatile unsigned*>(a + 1) += 1;
            __threadfence();
            atomicExch(a, 0u);
            done = true;
        }
    }
}
K grid_barrier(unsigned* a) {
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(a, 1u);
        while (*reinterpret_cast<volatile unsigned*>(a) < gridDim.x) {}
        atomicAdd(a + 1, 1u);
    }
}
