// Accesses outside of buffers, of shared and of local memory; and their neighbours that stay inside.
#include "corpus.h"

//: z64 t64
K past_the_end(unsigned* a) {
    a[T + 1] = T; //! out of bounds
}
//: z65 t64
K up_to_the_end(unsigned* a) {
    a[T + 1] = T;
}
//: z64 t64
K before_the_start(unsigned* a) {
    a[(int)T - 1] = 1; //! out of bounds
}
//: z64 t64
K from_the_start(unsigned* a) {
    a[T > 0 ? T - 1 : 0] = T;
}
//: z64 t1
K wild_pointer(unsigned* a) {
    *reinterpret_cast<unsigned*>(reinterpret_cast<unsigned long long>(a) * 3 + 4) = 1; //! out of bounds
}
//: z64 t32
K null_pointer(unsigned* a) {
    unsigned* p = reinterpret_cast<unsigned*>(a[T] * 8ull);
    a[T] = *p; //! out of bounds
}
//: z64 t64 b2
K second_block(unsigned* a) {
    a[blockIdx.x * 64 + T] = 1; //! out of bounds
}
//: z128 t64 b2
K both_blocks(unsigned* a) {
    a[blockIdx.x * 64 + T] = 1;
}
//: z63 t16
K vector_at_the_end(unsigned* a) {
    reinterpret_cast<uint4*>(a)[T] = make_uint4(1, 2, 3, 4); //! out of bounds
}
//: z64 t16
K vector_inside(unsigned* a) {
    reinterpret_cast<uint4*>(a)[T] = make_uint4(1, 2, 3, 4);
}
//: z64 t64
K atomic_outside(unsigned* a) {
    atomicAdd(a + 40 + T, 1u); //! out of bounds
}
//: z64 t64
K atomic_inside(unsigned* a) {
    atomicAdd(a + T / 2, 1u);
}
//: z64 r64 #65 t128
K off_by_one_guard(unsigned* a, const unsigned* b, int n) {
    if (T < n) a[T % 64] = b[T]; //! out of bounds
}
//: z64 r64 #64 t128
K guard(unsigned* a, const unsigned* b, int n) {
    if (T < n) a[T] = b[T];
}
//: z64 r64 #9 #9 t100
K swapped_indices(unsigned* a, const unsigned* b, int rows, int cols) {
    unsigned y = T / 10, x = T % 10;
    if (x < cols && y < rows) a[y * 7 + x] = b[x * 10 + y]; //! out of bounds
}
//: z64 r64 #7 #9 t100
K right_indices(unsigned* a, const unsigned* b, int rows, int cols) {
    unsigned y = T / 10, x = T % 10;
    if (x < cols && y < rows) a[y * 9 + x] = b[y * 9 + x];
}
//: z64 r64 t64
K stencil_without_edges(unsigned* a, const unsigned* b) {
    a[T] = b[T - 1] + b[T] + b[T + 1]; //! out of bounds
}
//: z64 r64 t64
K stencil_with_edges(unsigned* a, const unsigned* b) {
    unsigned left = T > 0 ? b[T - 1] : 0, right = T < 63 ? b[T + 1] : 0;
    a[T] = left + b[T] + right;
}
//: z64 r64 t64
K index_from_data(unsigned* a, const unsigned* b) {
    a[b[T] * 3] = T; //! out of bounds
}
//: z64 r64 t64
K clamped_index_from_data(unsigned* a, const unsigned* b) {
    a[min(b[T], 63u)] = b[T];
}
//: z64 r64 t64
K shared_past_the_end(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[64];
    s[T] = b[T];
    __syncthreads();
    a[T] = s[T + 65536]; //! out of bounds
}
//: z64 r64 t64 s128
K dynamic_shared_too_small(unsigned* a, const unsigned* b) {
    extern __shared__ unsigned d[];
    d[T] = b[T]; //! out of bounds
    __syncthreads();
    a[T] = d[63 - T]; //? out of bounds
}
//: z64 r64 t64 s256
K dynamic_shared(unsigned* a, const unsigned* b) {
    extern __shared__ unsigned d[];
    d[T] = b[T];
    __syncthreads();
    a[T] = d[63 - T];
}
//: z64 r64 t64
K shared_write_far(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[64];
    s[T + 2048 * b[T]] = b[T]; //! out of bounds
    __syncthreads();
    a[T] = s[63 - T];
}
//: z64 r64 t64
K local_index(unsigned* a, const unsigned* b) {
    unsigned v[8];
    for (int i = 0; i < 8; ++i) v[i] = b[T] + i;
    a[T] = v[b[T] % 8];
}
//: z64 r64 t64
K local_past_the_end(unsigned* a, const unsigned* b) {
    unsigned v[8];
    for (int i = 0; i < 8; ++i) v[i] = b[T] * i;
    a[T] = v[b[T] + 4000]; //! out of bounds
}
//: z64 r63 t64
K byte_past_the_end(unsigned* a, const unsigned char* b) {
    a[T] = b[4 * T + 3]; //! out of bounds
}
//: z64 r64 t64
K last_byte(unsigned* a, const unsigned char* b) {
    a[T] = b[4 * T + 3];
}
//: z64 r64 #68719476736L t64
K wrapped_offset(unsigned* a, const unsigned* b, long long n) {
    a[T] = b[n + T]; //! out of bounds
}
//: z32 r64 t64
K double_of_singles(double* a, const unsigned* b) {
    a[T] = b[T]; //! out of bounds
}
//: z128 r64 t64
K doubles(double* a, const unsigned* b) {
    a[T] = b[T];
}
//: z64 r64 t64
K grid_stride(unsigned* a, const unsigned* b) {
    for (unsigned i = T; i < 64; i += blockDim.x) a[i] = 2 * b[i];
}
__constant__ unsigned table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
//: z64 r64 t64
K constant_past_the_end(unsigned* a, const unsigned* b) {
    a[T] = table[b[T] * 1000]; //! out of bounds
}
//: z64 r64 t64
K constant_inside(unsigned* a, const unsigned* b) {
    a[T] = table[b[T] % 8];
}
