// Barriers that not all threads reach, or that can never complete.
#include "corpus.h"

//: z256 t256
K barrier_in_a_branch(unsigned* a) {
    if (T < 100) {
        a[T] = 1;
        __syncthreads(); //! divergent barrier
        a[T] = 2;
    }
    a[T] += 3;
}
//: z256 t256
K barrier_after_a_branch(unsigned* a) {
    if (T < 100) a[T] = 1;
    __syncthreads();
    a[T] += 3;
}
//: z64 t64
K barriers_in_both_branches(unsigned* a) {
    if (T % 2) {
        a[T] = 1;
        __syncthreads(); //! divergent barrier
    } else {
        a[T] = 2;
        __syncthreads(); //! divergent barrier
        a[T] += 1;
    }
}
//: z64 t64
K barriers_of_whole_warps(unsigned* a) {
    if (T / 32) {
        a[T] = 1;
        __syncthreads();
    } else {
        a[T] = 2;
        __syncthreads();
        a[T] += 1;
    }
}
//: z64 t64
K barrier_in_a_loop_of_own_length(unsigned* a) {
    for (unsigned i = 0; i <= T % 4; ++i) {
        a[T] += i;
        __syncthreads(); //! divergent barrier
    }
    a[T] += 5;
}
//: z64 t64
K barrier_in_a_loop_left_by_return(unsigned* a) {
    for (unsigned i = 0;; ++i) {
        a[T] += i;
        __syncthreads(); //! divergent barrier
        if (i == T / 16) return;
    }
}
//: z64 t64
K barrier_in_a_uniform_loop(unsigned* a) {
    for (unsigned i = 0; i <= blockDim.x % 5; ++i) {
        a[T] += i;
        __syncthreads();
    }
}
//: z256 r256 t256
K early_exit(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[256];
    if (T >= 100) return;
    s[T] = b[T];
    __syncthreads();
    a[T] = s[99 - T];
}
//: z64 t64
K exit_of_half_a_warp_between_barriers(unsigned* a) {
    a[T] = 1;
    __syncthreads();
    if (T % 32 >= 16) return;
    a[T] += 1;
    __syncthreads();
    a[T] += 1;
}
//: z128 t64 b2
K barrier_for_one_block(unsigned* a) {
    if (blockIdx.x == 0) {
        a[T] = 1;
        __syncthreads();
        a[63 - T] += 1;
    }
}
//: z64 r64 t64
K barrier_by_data(unsigned* a, const unsigned* b) {
    if (b[T] % 3 == 0) {
        a[T] = 1;
        __syncthreads(); //! divergent barrier
    }
    a[T] += b[T];
}
//: z64 t64
K named_barrier_for_too_many(unsigned* a) {
    if (T < 32) {
        a[T] = 1;
        asm volatile("bar.sync 1, 64;" ::: "memory"); //! barrier never completes
        a[T] = 2;
    }
}
//: z64 t64
K named_barrier_for_a_warp(unsigned* a) {
    if (T < 32) {
        a[T] = 1;
        asm volatile("bar.sync 1, 32;" ::: "memory");
        a[T] = 2;
    }
}
//: z96 t96
K two_of_three_warps(unsigned* a) {
    if (T < 64) asm volatile("bar.sync 3, 96;" ::: "memory"); //! barrier never completes
    else asm volatile("bar.sync 4, 96;" ::: "memory"); //! barrier never completes
    a[T] = 1;
}
//: z96 t96
K all_warps_on_two_barriers(unsigned* a) {
    if (T < 64) asm volatile("bar.sync 3, 64;" ::: "memory");
    else asm volatile("bar.sync 4, 32;" ::: "memory");
    a[T] = 1;
}
//: z64 t64
K consumer_without_producer(unsigned* a) {
    if (T < 32) asm volatile("bar.sync 5, 64;" ::: "memory"); //! barrier never completes
    a[T] = 1;
}
//: z64 r64 t64
K reduction_barrier(unsigned* a, const unsigned* b) {
    a[T] = __syncthreads_count(b[T] % 3 == 0);
}
//: z64 r64 t64
K reduction_barrier_in_a_branch(unsigned* a, const unsigned* b) {
    if (b[T] % 2) a[T] = __syncthreads_or(b[T] % 3 == 0); //! divergent barrier
    a[T] += 5;
}
// One lane works for long while the others of its warp are at the barrier already.
//: r64 z64 t64 #4096
K long_work_of_one_lane(const unsigned* a, unsigned* b, unsigned n) {
    __shared__ unsigned sum;
    if (T == 0) {
        unsigned v = 0;
#pragma unroll 1
        for (unsigned i = 0; i < n; ++i) v = v * 3 + a[i % 64];
        sum = v;
    }
    __syncthreads();
    b[T] = sum + a[T];
}
// The same, with a lane of each warp, twice.
//: r128 z128 t128 #3000
K long_work_of_a_lane_of_each_warp(const unsigned* a, unsigned* b, unsigned n) {
    __shared__ unsigned sum[4];
    for (int k = 0; k < 2; ++k) {
        if (T % 32 == 7) {
            unsigned v = 0;
#pragma unroll 1
            for (unsigned i = 0; i < n; ++i) v = v * 5 + a[(i + T) % 128];
            sum[T / 32] = v;
        }
        __syncthreads();
        b[T] += sum[(T / 32 + 1) % 4];
        __syncthreads();
    }
}
//: z4 t128
K shared_behind_a_global_counter(unsigned* a) {
    __shared__ unsigned sum;
    if (T == 0) sum = 0;
    __syncthreads();
    // Warps take turns by a counter in global memory.
    if (T % 32 == 0) {
        while (atomicAdd(a + 1, 0) != T / 32) {}
        __threadfence();
        sum += T;
        __threadfence();
        atomicAdd(a + 1, 1);
    }
    __syncthreads();
    if (T == 0) a[0] = sum;
}
//: z4 t64
K shared_behind_a_volatile_flag(unsigned* a) {
    __shared__ unsigned word;
    volatile unsigned* flag = a + 1;
    if (T == 0) {
        word = 42;
        __threadfence_block();
        *flag = 1;
    } else if (T == 32) {
        while (*flag == 0) {}
        __threadfence_block();
        a[0] = word;
    }
}
