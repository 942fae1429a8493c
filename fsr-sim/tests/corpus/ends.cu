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
__device__ __noinline__ void refuse(unsigned n) {
    if (n > 7) __trap(); //! trap
}
//: z64 r64 t16
K trap_in_a_function(unsigned* a, const unsigned* b) {
    refuse(b[T]);
    a[T] = 1;
}
//: z64 t32 b3
K assertion_of_the_last_block(unsigned* a) {
    assert(blockIdx.x + 1 < gridDim.x); //! assertion failed
    a[T] = 1;
}
//: z1 t64
K endless_between_barriers(volatile unsigned* a) {
    do __syncthreads(); //! instruction budget exhausted
    while (a[0] == 0); //! instruction budget exhausted
}
__device__ __noinline__ unsigned odd(unsigned n, unsigned* a);
__device__ __noinline__ unsigned even(unsigned n, unsigned* a) {
    volatile unsigned v[32];
    v[n % 32] = n;
    return odd(n + 1, a) + v[0]; //! stack overflow
}
__device__ __noinline__ unsigned odd(unsigned n, unsigned* a) {
    volatile unsigned v[32];
    v[n % 32] = n;
    return even(n + 1, a) + v[1]; //! stack overflow
}
//: z64 t1
K recursion_of_two(unsigned* a) {
    a[0] = even(0, a); //! stack overflow
}
__device__ __noinline__ unsigned down(unsigned n) {
    volatile unsigned v[64];
    v[n % 64] = n;
    return n == 0 ? 0 : down(n - 1) + v[n % 64]; //! stack overflow
}
//: z64 t1 #100000
K recursion_too_deep_for_this_number(unsigned* a, unsigned n) {
    a[0] = down(n); //! stack overflow
}
//: z64 t1 #100
K recursion_that_just_fits(unsigned* a, unsigned n) {
    a[0] = down(n % 10);
}
//: z64 z2 t16
K call_of_nothing(unsigned* a, const unsigned long long* b) {
    auto f = reinterpret_cast<unsigned (*)(unsigned)>(b[0]);
    a[T] = f(T); //! invalid call or branch target
}
//: z64 r64 t16
K call_of_data(unsigned* a, const unsigned* b) {
    auto f = reinterpret_cast<unsigned (*)(unsigned)>(const_cast<unsigned*>(b));
    a[T] = f(T); //! invalid call or branch target
}
__constant__ float weights[32];
//: z64 t32
K update_of_constant_weights(unsigned* a) {
    float* p;
    asm("{ .reg .u64 t; mov.u64 t, weights; cvta.const.u64 %0, t; }" : "=l"(p));
    p[T] = a[T] * 0.5f; //! write to constant memory
    a[T] = (unsigned)weights[T];
}
//: z64 t32
K count_in_constant_memory(unsigned* a) {
    unsigned* p;
    asm("{ .reg .u64 t; mov.u64 t, settings; cvta.const.u64 %0, t; }" : "=l"(p));
    if (T == 3) p[1] += 1; //! write to constant memory
    a[T] = settings[T % 4];
}
