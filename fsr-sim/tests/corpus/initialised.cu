// Reads of bytes that nothing has written.
#include "corpus.h"

//: z64 n64 t64
K global_never_written(unsigned* a, const unsigned* b) {
    a[T] = b[T]; //! uninitialised read
}
//: z64 n64 t64
K global_written_first(unsigned* a, unsigned* b) {
    b[T] = T;
    a[T] = b[T] + 1;
}
//: z64 t64
K half_of_shared(unsigned* a) {
    __shared__ unsigned s[64];
    if (T < 32) s[T] = T;
    __syncthreads();
    a[T] = s[T]; //! uninitialised read
}
//: z64 t64
K all_of_shared(unsigned* a) {
    __shared__ unsigned s[64];
    s[T] = T;
    __syncthreads();
    a[T] = s[63 - T];
}
//: z64 t64
K shared_accumulator(unsigned* a) {
    __shared__ unsigned sum;
    atomicAdd(&sum, T); //! uninitialised read
    __syncthreads();
    a[T] = sum;
}
//: z64 t64
K shared_accumulator_cleared(unsigned* a) {
    __shared__ unsigned sum;
    if (T == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, T);
    __syncthreads();
    a[T] = sum;
}
//: z64 n64 t16
K accumulates_into_output(unsigned* a, unsigned* b) {
    b[T] += a[T]; //! uninitialised read
}
//: z64 z64 t16
K accumulates_into_zeros(unsigned* a, unsigned* b) {
    b[T] += a[T];
}
//: z64 t60 s256
K tail_of_the_tile(unsigned* a) {
    extern __shared__ unsigned d[];
    d[T] = T;
    __syncthreads();
    if (T < 16) a[T] = d[T * 4 + 3]; //! uninitialised read
}
//: z64 t60 s256
K tail_of_the_tile_filled(unsigned* a) {
    extern __shared__ unsigned d[];
    for (unsigned i = T; i < 64; i += blockDim.x) d[i] = i < 60 ? i : 0;
    __syncthreads();
    if (T < 16) a[T] = d[T * 4 + 3];
}
//: z64 r64 t32
K local_array_half_filled(unsigned* a, const unsigned* b) {
    unsigned v[16];
    for (unsigned i = 0; i < b[T] % 8; ++i) v[i] = b[i];
    a[T] = v[b[T] % 8 + 1]; //! uninitialised read
}
//: z64 r64 t32
K local_array_filled(unsigned* a, const unsigned* b) {
    unsigned v[16];
    for (unsigned i = 0; i < 16; ++i) v[i] = b[i];
    a[T] = v[b[T] % 8 + 1];
}
//: z64 n64 t64
K every_second_byte(unsigned* a, unsigned char* b) {
    b[2 * T] = 1;
    a[T] = *reinterpret_cast<unsigned short*>(b + 2 * T); //! uninitialised read
}
//: z64 n64 t64
K every_byte(unsigned* a, unsigned char* b) {
    b[2 * T] = 1;
    b[2 * T + 1] = 2;
    a[T] = *reinterpret_cast<unsigned short*>(b + 2 * T);
}
//: z64 n64 t32
K struct_with_a_gap(unsigned* a, uint2* b) {
    b[T].x = T;
    uint2 v = b[T]; //! uninitialised read
    a[T] = v.x + v.y;
}
