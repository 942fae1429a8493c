// Blocks that touch the same bytes of global memory.
#include "corpus.h"

//: z1 t32 b8
K sum_without_atomics(unsigned* a) {
    if (T == 0) a[0] = a[0] + blockIdx.x + 1; //! race
}
//: z1 t32 b8
K sum_with_atomics(unsigned* a) {
    if (T == 0) atomicAdd(a, blockIdx.x + 1);
}
//: z64 t32 b8
K overlapping_tiles(unsigned* a) {
    a[(blockIdx.x * 4 + T) % 64] = blockIdx.x * 64 + T; //! race
}
//: z256 t32 b8
K separate_tiles(unsigned* a) {
    a[blockIdx.x * 32 + T] = blockIdx.x * 64 + T;
}
//: z64 t32 b8
K reads_a_neighbour(unsigned* a) {
    unsigned v = a[(blockIdx.x + 1) % gridDim.x]; //! race
    if (T == 0) a[blockIdx.x] = v + 1; //! race
}
//: z64 r64 t32 b8
K reads_a_neighbour_of_another_buffer(unsigned* a, const unsigned* b) {
    unsigned v = b[(blockIdx.x + 1) % gridDim.x];
    if (T == 0) a[blockIdx.x] = v + 1;
}
//: z260 t32 b8
K halo_in_place(unsigned* a) {
    unsigned i = blockIdx.x * 32 + T;
    unsigned v = a[i] + a[i + 1] + 1; //! race
    __syncthreads();
    a[i] = v; //! race
}
//: z256 r260 t32 b8
K halo_out_of_place(unsigned* a, const unsigned* b) {
    unsigned i = blockIdx.x * 32 + T;
    a[i] = b[i] + b[i + 1] + 1;
}
//: z16 r256 t32 b8
K last_block_without_fence(unsigned* a, const unsigned* b) {
    if (T == 0) a[blockIdx.x + 1] = b[blockIdx.x] + 1;
    __threadfence();
    if (T == 0 && atomicAdd(a, 1u) == gridDim.x - 1) a[9] = 1;
}
//: z64 t32 b8
K last_block_sums(unsigned* a) {
    if (T == 0) {
        a[1 + blockIdx.x] = blockIdx.x;
        __threadfence();
        if (atomicAdd(a, 1u) == gridDim.x - 1) {
            unsigned n = 0;
            for (unsigned i = 0; i < gridDim.x; ++i) n += *(volatile unsigned*)(a + 1 + i);
            a[63] = n;
        }
    }
}
//: z2 t64 b16
K grid_barrier(unsigned* a) {
    if (T == 0) {
        __threadfence();
        atomicAdd(a, 1u);
        while (*reinterpret_cast<volatile unsigned*>(a) < gridDim.x) {}
        atomicAdd(a + 1, 1u);
    }
}
//: z2 t64 b4
K lock(unsigned* a) {
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
//: z64 t32 b4
K maximum_without_atomics(unsigned* a) {
    unsigned mine = (blockIdx.x * 37 + T * 11) % 101 + 1;
    if (mine > a[0]) a[0] = mine; //! race
}
//: z64 t32 b4
K maximum_with_atomics(unsigned* a) {
    atomicMax(a, (blockIdx.x * 37 + T * 11) % 101 + 1);
}
//: z64 r64 t32 b4
K scatter(unsigned* a, const unsigned* b) {
    a[(b[T] * 7 + blockIdx.x) % 16] = blockIdx.x * 32 + T + 1; //! race
}
//: z128 r64 t32 b4
K scatter_to_own_places(unsigned* a, const unsigned* b) {
    a[b[T] * 4 + blockIdx.x] = blockIdx.x * 32 + T + 1;
}
//: z64 t32 b4
K bytes_of_blocks(unsigned char* a) {
    if (T < 8) a[T * 4 + blockIdx.x] = blockIdx.x + 1;
}
//: z64 t32 b4
K words_over_bytes_of_blocks(unsigned char* a) {
    if (blockIdx.x == 0) reinterpret_cast<unsigned*>(a)[T] = T + 1; //! race
    else a[T * 4 + blockIdx.x] = blockIdx.x + 100; //! race
}
