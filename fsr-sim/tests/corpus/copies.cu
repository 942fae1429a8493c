// Asynchronous copies that are read before they are complete.
#include <cuda_pipeline.h>
#include "corpus.h"

//: z128 r128 t32
K read_before_the_wait(uint4* a, const uint4* b) {
    __shared__ uint4 s[32];
    __pipeline_memcpy_async(&s[T], &b[T], 16);
    __pipeline_commit();
    uint4 v = s[T]; //! missing wait
    v.x += 1;
    __pipeline_wait_prior(0);
    a[T] = v;
}
//: z128 r128 t32
K read_after_the_wait(uint4* a, const uint4* b) {
    __shared__ uint4 s[32];
    __pipeline_memcpy_async(&s[T], &b[T], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    uint4 v = s[T];
    v.x += 1;
    a[T] = v;
}
//: z32 r32 t32
K never_waited(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[32];
    __pipeline_memcpy_async(&s[T], &b[T], 4);
    __pipeline_commit();
    __syncthreads();
    a[T] = s[T]; //! missing wait
}
//: z32 r64 t32
K waits_for_the_wrong_group(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[2][32];
    __pipeline_memcpy_async(&s[0][T], &b[T], 4);
    __pipeline_commit();
    __pipeline_memcpy_async(&s[1][T], &b[32 + T], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    a[T] = s[1][T]; //! missing wait
}
//: z32 r64 t32
K waits_for_the_right_group(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[2][32];
    __pipeline_memcpy_async(&s[0][T], &b[T], 4);
    __pipeline_commit();
    __pipeline_memcpy_async(&s[1][T], &b[32 + T], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    unsigned v = s[0][T];
    __pipeline_wait_prior(0);
    a[T] = v + s[1][T];
}
//: z64 r64 t64
K waits_without_a_barrier(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[64];
    __pipeline_memcpy_async(&s[T], &b[T], 4); //? race
    __pipeline_commit();
    __pipeline_wait_prior(0);
    a[T] = s[63 - T]; //! race //? missing wait //? uninitialised read
}
//: z64 r64 t64
K waits_and_a_barrier(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[64];
    __pipeline_memcpy_async(&s[T], &b[T], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    a[T] = s[63 - T];
}
//: z64 r256 t64
K pipeline_of_two_stages(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[2][64];
    unsigned sum = 0;
    __pipeline_memcpy_async(&s[0][T], &b[T], 4);
    __pipeline_commit();
    for (int i = 0; i < 4; ++i) {
        if (i < 3) __pipeline_memcpy_async(&s[(i + 1) % 2][T], &b[(i + 1) * 64 + T], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[i % 2][63 - T];
        __syncthreads();
    }
    a[T] = sum;
}
//: z64 r256 t64
K pipeline_that_waits_for_one_too_few(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[2][64];
    unsigned sum = 0;
    __pipeline_memcpy_async(&s[0][T], &b[T], 4);
    __pipeline_commit();
    for (int i = 0; i < 4; ++i) {
        if (i < 3) __pipeline_memcpy_async(&s[(i + 1) % 2][T], &b[(i + 1) * 64 + T], 4);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        sum += s[i % 2][63 - T]; //! missing wait
        __syncthreads();
    }
    a[T] = sum;
}
//: z32 r32 t32
K copy_past_the_end(unsigned* a, const unsigned* b) {
    __shared__ unsigned s[32];
    __pipeline_memcpy_async(&s[T], &b[T + 1], 4); //! out of bounds
    __pipeline_commit();
    __pipeline_wait_prior(0);
    a[T] = s[T];
}
