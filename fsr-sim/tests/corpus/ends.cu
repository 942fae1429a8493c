// Kernels that end badly, or never; and some that end well.
#include <cassert>
#include "corpus.h"

//: z64 t32
K trap_at_once(unsigned* a) {
    if (a[0] == 0) __trap(); //! trap
    a[T] = 1;
}
//: z64 t64
K trap_of_one_thread(unsigned* a) {
    __syncthreads();
    if (T == 40) __trap(); //! trap
    a[T] = 1;
}
//: z64 r64 t64
K no_trap(unsigned* a, const unsigned* b) {
    if (b[T] > 63) __trap();
    a[T] = 1;
}
//: z64 t40
K assertion(unsigned* a) {
    assert(T < 33); //! assertion failed
    a[T] = 1;
}
//: z64 t40
K assertion_that_holds(unsigned* a) {
    assert(T < 40);
    a[T] = 1;
}
//: z64 r64 t64
K assertion_on_data(unsigned* a, const unsigned* b) {
    assert(b[T] != 17 && "seventeen"); //! assertion failed
    a[T] = b[T];
}
//: z1 t32
K endless(volatile unsigned* a) {
    while (a[0] == 0) {} //! instruction budget exhausted
}
//: z64 r64 t32
K endless_for_one(unsigned* a, const unsigned* b) {
    unsigned i = b[T];
    while (i != 33) i = (i + 2) % 64; //! instruction budget exhausted
    a[T] = i;
}
//: z64 r64 t32
K long_loop(unsigned* a, const unsigned* b) {
    unsigned v = 0;
#pragma unroll 1
    for (unsigned i = 0; i < b[T] * 10; ++i) v = v * 3 + i;
    a[T] = v;
}
__device__ __noinline__ unsigned dive(unsigned n, unsigned* a) {
    volatile unsigned v[64];
    v[n % 64] = n;
    return dive(n + 1, a) + v[n % 32]; //! stack overflow
}
//: z64 t1
K recursion_without_end(unsigned* a) {
    a[0] = dive(0, a); //! stack overflow
}
__device__ __noinline__ unsigned fibonacci(unsigned n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
//: z64 r64 t16
K recursion(unsigned* a, const unsigned* b) {
    a[T] = fibonacci(b[T] % 10);
}
//: z64 r64 t16
K call_of_a_number(unsigned* a, const unsigned* b) {
    auto f = reinterpret_cast<unsigned (*)(unsigned)>((unsigned long long)b[T] * 8 + 64);
    a[T] = f(T); //! invalid call or branch target
}
__device__ __noinline__ unsigned twice(unsigned n) { return 2 * n; }
__device__ __noinline__ unsigned square(unsigned n) { return n * n; }
//: z64 r64 t16
K call_through_a_pointer(unsigned* a, const unsigned* b) {
    unsigned (*f)(unsigned) = b[T] % 2 ? twice : square;
    a[T] = f(T);
}
__constant__ unsigned settings[4] = {1, 2, 3, 4};
//: z64 r64 t4
K write_to_constant_memory(unsigned* a, const unsigned* b) {
    unsigned* p;
    asm("{ .reg .u64 t; mov.u64 t, settings; cvta.const.u64 %0, t; }" : "=l"(p));
    p[T] = b[T] + 9; //! write to constant memory
    a[T] = settings[T];
}
//: z64 r64 t4
K read_of_constant_memory(unsigned* a, const unsigned* b) {
    a[T] = settings[b[T] % 4];
}
