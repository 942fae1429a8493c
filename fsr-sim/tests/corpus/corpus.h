// Every kernel is preceded by how it is launched: buffers of words (z: zeros, r: the numbers 0, 1, 2, ..., n: never
// written), integers (#, 64 bits with L), and t: threads, b: blocks (1), s: bytes of dynamic shared memory.
// Lines at fault say so: `//! kind`; a kernel without such lines is clean. `//? kind` may be reported, too.
#pragma once
#define K extern "C" __global__ void
#define T threadIdx.x
