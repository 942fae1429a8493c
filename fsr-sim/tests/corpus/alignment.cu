// Addresses that are no multiple of the access's size.
#include "corpus.h"

//: z66 t16
K float4_off_by_a_float(unsigned* a) {
    float4 v = *reinterpret_cast<float4*>(a + 1 + 4 * T); //! misaligned
    a[T] = (unsigned)(v.x + v.w);
}
//: z64 r64 t16
K float4_in_place(float* a, const float* b) {
    float4 v = reinterpret_cast<const float4*>(b)[T];
    a[T] = v.x + v.w;
}
//: z66 t64
K word_off_by_a_byte(unsigned* a) {
    *reinterpret_cast<unsigned*>(reinterpret_cast<char*>(a) + 4 * T + 2) = 1; //! misaligned
}
//: z64 r64 t64
K bytes_anywhere(unsigned* a, const unsigned char* b) {
    unsigned v = 0;
    for (int i = 0; i < 4; ++i) v |= b[(4 * T + 1 + i) % 256] << 8 * i;
    a[T] = v;
}
//: z64 t64
K shared_word_off_by_a_byte(unsigned* a) {
    __shared__ __align__(16) char s[512];
    *reinterpret_cast<volatile unsigned*>(s + 4 * T + 1) = T; //! misaligned
    a[T] = s[T];
}
//: z64 t1
K atomic_off_by_a_byte(unsigned* a) {
    atomicAdd(reinterpret_cast<unsigned*>(reinterpret_cast<char*>(a) + 1), 1u); //! misaligned
}
//: z66 r66 t32
K double_on_an_odd_word(double* a, const unsigned* b) {
    a[T] = *reinterpret_cast<const double*>(b + 2 * T + 1); //! misaligned
}
//: z64 r66 t32
K double_in_place(double* a, const unsigned* b) {
    a[T] = *reinterpret_cast<const double*>(b + 2 * T);
}
//: z64 r64 t32
K short_on_an_odd_byte(unsigned* a, const unsigned char* b) {
    a[T] = *reinterpret_cast<const unsigned short*>(b + 2 * T + 1); //! misaligned
}
//: z64 r72 #1 t16
K row_of_odd_length(unsigned* a, const unsigned* b, int row) {
    uint2 v = *reinterpret_cast<const uint2*>(b + row * 17 + 2 * T); //! misaligned
    a[T] = v.x + v.y;
}
//: z64 r72 #1 t16
K row_of_padded_length(unsigned* a, const unsigned* b, int row) {
    uint2 v = *reinterpret_cast<const uint2*>(b + row * 18 + 2 * T);
    a[T] = v.x + v.y;
}
//: z64 r64 t32
K local_word_off_by_a_byte(unsigned* a, const unsigned* b) {
    char v[64];
    for (int i = 0; i < 64; ++i) v[i] = b[T] + i;
    a[T] = *reinterpret_cast<volatile unsigned*>(v + b[T] % 16 * 4 + 1); //! misaligned
}
