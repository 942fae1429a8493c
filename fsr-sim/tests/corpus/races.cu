// Threads of a block that touch the same shared or global bytes without a barrier between.
#include "corpus.h"

//: z256 r256 t256
K no_barrier(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[256];
    s[T] = b[T]; //! race
    a[T] = s[255 - T]; //! race //? uninitialised read
}
//: z256 r256 t256
K one_barrier(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[256];
    s[T] = b[T];
    __syncthreads();
    a[T] = s[255 - T];
}
//: z256 r256 t256
K loop_with_one_barrier(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[256];
    unsigned sum = 0;
#pragma unroll 1
    for (int i = 0; i < 4; ++i) {
        s[T] = b[T] + i; //! race
        __syncthreads();
        sum += s[(T + 32) % 256]; //! race
    }
    a[T] = sum;
}
//: z256 r256 t256
K loop_with_two_barriers(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[256];
    unsigned sum = 0;
#pragma unroll 1
    for (int i = 0; i < 4; ++i) {
        s[T] = b[T] + i;
        __syncthreads();
        sum += s[(T + 32) % 256];
        __syncthreads();
    }
    a[T] = sum;
}
//: z256 r256 t256
K double_buffer(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[2][256];
    unsigned sum = 0;
#pragma unroll 1
    for (int i = 0; i < 6; ++i) {
        s[i % 2][T] = b[T] + i;
        __syncthreads();
        sum += s[i % 2][(T + 32) % 256];
    }
    a[T] = sum;
}
//: z32 r32 t32
K warp_without_syncwarp(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[32];
    s[T] = b[T]; //! race
    a[T] = s[31 - T]; //! race
}
//: z32 r32 t32
K warp_with_syncwarp(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[32];
    s[T] = b[T];
    __syncwarp();
    a[T] = s[31 - T];
}
//: z64 r64 t64
K syncwarp_is_not_enough(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[64];
    s[T] = b[T]; //! race
    __syncwarp();
    a[T] = s[63 - T]; //! race //? uninitialised read
}
//: z64 r64 t64
K write_after_read(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[64];
    s[T] = b[T];
    __syncthreads();
    unsigned v = s[T ^ 32]; //! race
    s[T] = v + 1; //! race
    __syncthreads();
    a[T] = s[T];
}
//: z64 r64 t64
K write_after_read_with_barrier(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[64];
    s[T] = b[T];
    __syncthreads();
    unsigned v = s[T ^ 32];
    __syncthreads();
    s[T] = v + 1;
    __syncthreads();
    a[T] = s[T];
}
//: z64 t64
K write_after_write(unsigned* a) {
    __shared__ unsigned s[32];
    s[T % 32] = T; //! race
    __syncthreads();
    a[T] = s[T % 32];
}
//: z64 t64
K all_write_the_same(unsigned* a) {
    __shared__ unsigned flag;
    flag = 1;
    __syncthreads();
    a[T] = flag;
}
//: z64 r64 t64
K reduction_without_barrier(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[64];
    s[T] = b[T];
    __syncthreads();
    for (int n = 32; n > 0; n /= 2) {
        if (T < n) s[T] += s[T + n]; //! race
    }
    if (T == 0) a[0] = s[0];
}
//: z64 r64 t64
K reduction(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[64];
    s[T] = b[T];
    __syncthreads();
    for (int n = 32; n > 0; n /= 2) {
        if (T < n) s[T] += s[T + n];
        __syncthreads();
    }
    if (T == 0) a[0] = s[0];
}
//: z64 r64 t64
K reduction_volatile_tail(unsigned* a, const unsigned* b) {
    __shared__ volatile unsigned s[64];
    s[T] = b[T];
    __syncthreads();
    unsigned v = s[T];
    if (T < 32) {
        v += s[T + 32]; __syncwarp();
        s[T] = v; __syncwarp();
        for (int n = 16; n > 0; n /= 2) {
            v += s[(T + n) % 32]; __syncwarp();
            s[T] = v; __syncwarp();
        }
        if (T == 0) a[0] = v;
    }
}
//: z64 r64 t64
K bytes_of_a_word(unsigned* a, const unsigned* b) {
    __shared__ unsigned char s[64];
    s[T] = b[T];
    __syncthreads();
    a[T] = s[T ^ 33];
}
//: z64 r64 t64
K neighbouring_bytes_race(unsigned* a, const unsigned* b) {
    __shared__ unsigned char s[64];
    s[T] = b[T] + 1; //! race
    a[T] = s[T ^ 33]; //! race //? uninitialised read
}
//: z64 r64 t64
K counter_without_atomics(unsigned* a, const unsigned* b) {
    __shared__ unsigned count;
    if (T == 0) count = 0;
    __syncthreads();
    if (b[T] % 3 == 0) count = count + 1; //! race
    __syncthreads();
    a[T] = count;
}
//: z64 r64 t64
K counter_with_atomics(unsigned* a, const unsigned* b) {
    __shared__ unsigned count;
    if (T == 0) count = 0;
    __syncthreads();
    if (b[T] % 3 == 0) atomicAdd(&count, 1u);
    __syncthreads();
    a[T] = count;
}
//: z64 r64 t64
K atomic_then_plain_read(unsigned* a, const unsigned* b) {
    __shared__ unsigned count;
    if (T == 0) count = 0;
    __syncthreads();
    atomicAdd(&count, b[T]); //! race
    a[T] = count; //! race
}
//: z64 r64 t64
K histogram(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[16];
    if (T < 16) s[T] = 0;
    __syncthreads();
    atomicAdd(&s[b[T] % 16], 1u);
    __syncthreads();
    if (T < 16) a[T] = s[T];
}
//: z64 r64 t64
K histogram_cleared_late(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[16];
    if (T < 16) s[T] = 7; //! race
    atomicAdd(&s[b[T] % 16], 1u); //! race //? uninitialised read
    __syncthreads();
    if (T < 16) a[T] = s[T];
}
//: z256 r256 x16 y16
K tile_transposed(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[16][17];
    s[threadIdx.y][threadIdx.x] = b[threadIdx.y * 16 + threadIdx.x];
    __syncthreads();
    a[threadIdx.y * 16 + threadIdx.x] = s[threadIdx.x][threadIdx.y];
}
//: z256 r256 x16 y16
K tile_transposed_without_barrier(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[16][17];
    s[threadIdx.y][threadIdx.x] = b[threadIdx.y * 16 + threadIdx.x]; //! race
    a[threadIdx.y * 16 + threadIdx.x] = s[threadIdx.x][threadIdx.y]; //! race //? uninitialised read
}
//: z256 r256 r256 x16 y16
K matmul_tile(unsigned* c, const unsigned* a, const unsigned* b) {
    __shared__ unsigned p[8][16], q[16][8];
    unsigned sum = 0;
    for (int k = 0; k < 16; k += 8) {
        if (threadIdx.x < 8) q[threadIdx.y][threadIdx.x] = a[threadIdx.y * 16 + k + threadIdx.x];
        if (threadIdx.y < 8) p[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * 16 + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 8; ++i) sum += q[threadIdx.y][i] * p[i][threadIdx.x];
        __syncthreads();
    }
    c[threadIdx.y * 16 + threadIdx.x] = sum;
}
//: z256 r256 r256 x16 y16
K matmul_tile_without_second_barrier(unsigned* c, const unsigned* a, const unsigned* b) {
    __shared__ unsigned p[8][16], q[16][8];
    unsigned sum = 0;
#pragma unroll 1
    for (int k = 0; k < 16; k += 8) {
        if (threadIdx.x < 8) q[threadIdx.y][threadIdx.x] = a[threadIdx.y * 16 + k + threadIdx.x]; //! race
        if (threadIdx.y < 8) p[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * 16 + threadIdx.x]; //! race
        __syncthreads();
        for (int i = 0; i < 8; ++i) sum += q[threadIdx.y][i] * p[i][threadIdx.x]; //! race
    }
    c[threadIdx.y * 16 + threadIdx.x] = sum;
}
//: z64 t64
K global_within_a_block(unsigned* a) {
    a[T] = T + 1; //! race
    a[(T + 32) % 64] += 5; //! race
}
//: z64 t64
K global_within_a_block_with_barrier(unsigned* a) {
    a[T] = T + 1;
    __syncthreads();
    a[(T + 32) % 64] += 5;
}
//: z64 r64 t64
K scan_without_barrier(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[64];
    s[T] = b[T];
    __syncthreads();
    for (int n = 1; n < 64; n *= 2) {
        unsigned v = T >= n ? s[T - n] : 0; //! race
        s[T] += v; //! race
        __syncthreads();
    }
    a[T] = s[T];
}
//: z64 r64 t64
K scan(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[64];
    s[T] = b[T];
    __syncthreads();
    for (int n = 1; n < 64; n *= 2) {
        unsigned v = T >= n ? s[T - n] : 0;
        __syncthreads();
        s[T] += v;
        __syncthreads();
    }
    a[T] = s[T];
}
//: z64 r64 t64
K producer_and_consumer(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[32];
    if (T < 32) {
        s[T] = b[T];
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        a[T] = s[T - 32];
    }
}
//: z64 r64 t64
K producer_and_consumer_on_two_barriers(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[32];
    if (T < 32) {
        s[T] = b[T] + 1; //! race
        asm volatile("bar.sync 1, 32;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 32;" ::: "memory");
        a[T] = s[T - 32]; //! race //? uninitialised read
    }
}
// The guide's way to an atomic that the device does not have: a plain read, then exchanges until one holds.
__device__ void add_by_exchange(float* at, float v) {
    unsigned* bits = reinterpret_cast<unsigned*>(at);
    unsigned old = *bits, seen;
    do {
        seen = old;
        old = atomicCAS(bits, seen, __float_as_uint(v + __uint_as_float(seen)));
    } while (old != seen);
}
//: r256 z1 t64 b4
K sum_by_exchange(const unsigned* a, float* sum) {
    add_by_exchange(sum, (float)a[blockIdx.x * 64 + T]);
}
//: r256 z4 t256
K shared_sum_by_exchange(const unsigned* a, float* sum) {
    __shared__ float s;
    if (T == 0) s = 0;
    __syncthreads();
    add_by_exchange(&s, (float)a[T]);
    __syncthreads();
    if (T == 0) sum[0] = s;
}
