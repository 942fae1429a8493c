#include <cstdio>
#define K extern "C" __global__ void
__device__ __noinline__ unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
K recursion(unsigned* out) { out[threadIdx.x] = fib(threadIdx.x % 10); }

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ int (*const table[2])(int) = {twice, square};
K pointers(int* out, int which) { out[threadIdx.x] = table[(threadIdx.x + which) & 1](threadIdx.x); }

struct Pair { long long a; int b; double c; };
__device__ __noinline__ Pair swap_sum(Pair p, int n) {
    for (int i = 0; i < n; ++i) { p.a += p.b; p.c *= 0.5; }
    return p;
}
K structs(double* out) {
    Pair p = swap_sum(Pair{(long long)threadIdx.x << 33, (int)threadIdx.x, 1024.0}, threadIdx.x & 3);
    out[threadIdx.x] = (double)(p.a >> 1) + p.c + p.b;
}
K local_array(unsigned* out, int n) {
    unsigned a[16];
    for (int i = 0; i < 16; ++i) a[i] = i * i + threadIdx.x;
    for (int i = 0; i < n; ++i) a[(i * 7) & 15] += a[(i * 3) & 15];
    out[threadIdx.x] = a[threadIdx.x & 15];
}
K switches(unsigned* out) {
    unsigned v = 0;
    switch (out[threadIdx.x] % 9) {
        case 0: v = 11; break; case 1: v = 7 * threadIdx.x; break; case 2: v = 13; break; case 3: v = threadIdx.x ^ 5; break;
        case 4: v = 17; break; case 5: v = threadIdx.x << 3; break; case 6: v = 3; break; default: v = 99;
    }
    out[threadIdx.x] = v;
}
__device__ __noinline__ void add_to(unsigned* p, unsigned v) { *p += v; }
K generic(unsigned* out) {
    __shared__ unsigned s[64];
    unsigned l = threadIdx.x;
    s[threadIdx.x] = 1;
    __syncthreads();
    add_to(&s[threadIdx.x], 10);
    add_to(&l, 100);
    add_to(threadIdx.x & 1 ? &s[threadIdx.x] : &out[threadIdx.x], 1000);
    out[threadIdx.x] += s[threadIdx.x] + l;
}
K prints(int n) { if (threadIdx.x < n) printf("thread %d of %u: %5.2f|%-4s|%c|%lld\n", threadIdx.x, blockDim.x, threadIdx.x * 0.5, "ab", 'x', 1LL << 40); }
K votes(unsigned* out) {
    unsigned t = threadIdx.x, r = 0;
    if (t % 3 == 0) r = __ballot_sync(__activemask(), t & 1);
    else r = __reduce_add_sync(__activemask(), t);
    r += __popc(__match_any_sync(0xffffffffu, t / 5)) << 16;
    r += (unsigned)__syncthreads_count(t > 40) << 24;
    out[t] = r;
}
