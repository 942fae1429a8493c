// Member masks of warp instructions.
#include "corpus.h"

//: z32 r32 t32
K shuffle_with_a_full_mask_in_a_branch(unsigned* a, const unsigned* b) {
    if (T < 16) a[T] = __shfl_sync(0xffffffffu, b[T], 0); //! wrong member mask
}
//: z32 r32 t32
K shuffle_with_the_mask_of_the_branch(unsigned* a, const unsigned* b) {
    if (T < 16) a[T] = __shfl_sync(0xffffu, b[T], 0);
}
//: z32 r32 t32
K mask_without_the_caller(unsigned* a, const unsigned* b) {
    if (T % 32 < 8) {
        asm volatile("bar.warp.sync 0xff00;" ::: "memory"); //! wrong member mask
        a[T] = b[T];
    }
}
//: z32 r32 t32
K mask_of_the_callers(unsigned* a, const unsigned* b) {
    if (T % 32 < 8) {
        __syncwarp(0xffu);
        a[T] = b[T];
    }
}
//: z32 r32 t32
K ballot_with_a_full_mask_in_a_branch(unsigned* a, const unsigned* b) {
    if (T & 1) a[T] = __ballot_sync(0xffffffffu, b[T] > 5); //! wrong member mask
}
//: z32 r32 t32
K ballot_of_all(unsigned* a, const unsigned* b) {
    unsigned m = __ballot_sync(0xffffffffu, b[T] > 5);
    if (T & 1) a[T] = m;
}
//: z32 r32 t20
K block_of_part_of_a_warp(unsigned* a, const unsigned* b) {
    a[T] = __shfl_xor_sync(0xffffffffu, b[T], 1);
}
//: z32 r32 t20
K block_of_part_of_a_warp_masked(unsigned* a, const unsigned* b) {
    a[T] = __shfl_xor_sync(0xfffffu, b[T], 1);
}
//: z32 r32 t32
K syncwarp_after_exit(unsigned* a, const unsigned* b) {
    if (T >= 24) return;
    a[T] = b[T];
    __syncwarp(0xffffffu);
    a[T] += 1;
}
//: z32 r32 t32
K reduce_of_some(unsigned* a, const unsigned* b) {
    if (T >= 7) a[T] = __reduce_add_sync(0xffffffffu, b[T]); //! wrong member mask
}
//: z32 r32 t32
K reduce_of_all(unsigned* a, const unsigned* b) {
    a[T] = __reduce_add_sync(0xffffffffu, b[T]);
}
//: z32 r32 t32
K match_in_a_branch(unsigned* a, const unsigned* b) {
    if (T < 30) a[T] = __match_any_sync(0xffffffffu, b[T] / 4); //! wrong member mask
}
//: z32 r32 t32
K match_of_all(unsigned* a, const unsigned* b) {
    a[T] = __match_any_sync(0xffffffffu, b[T] / 4);
}
//: z64 r64 t64
K sum_by_shuffles(unsigned* a, const unsigned* b) {
    unsigned v = b[T];
    for (int n = 16; n; n /= 2) v += __shfl_xor_sync(0xffffffffu, v, n);
    a[T] = v;
}
//: z64 r64 t64
K sum_by_shuffles_of_halves(unsigned* a, const unsigned* b) {
    unsigned v = b[T], mask = T % 32 < 16 ? 0xffffu : 0xffff0000u;
    if (T % 32 < 16) for (int n = 8; n; n /= 2) v += __shfl_xor_sync(mask, v, n);
    else for (int n = 8; n; n /= 2) v += __shfl_xor_sync(mask, v, n, 16);
    a[T] = v;
}
//: z32 r32 t32
K loop_left_by_some(unsigned* a, const unsigned* b) {
    unsigned v = b[T];
    for (unsigned i = 0; i < b[T] % 4 + 1; ++i) v += __shfl_down_sync(0xffffffffu, v, 1); //! wrong member mask
    a[T] = v;
}
//: z32 r32 t32
K syncwarp_of_all_in_a_branch(unsigned* a, const unsigned* b) {
    if (T < 8) {
        a[T] = b[T];
        asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); //! wrong member mask
    }
    a[T] += 5;
}
//: z32 r32 t32
K syncwarp_in_both_branches(unsigned* a, const unsigned* b) {
    if (T < 8) {
        a[T] = b[T];
        asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
        a[T] += 2;
    } else {
        a[T] = b[T] + 1;
        asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    }
    a[T] += 5;
}
