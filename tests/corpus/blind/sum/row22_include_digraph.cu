// Writes the include with a digraph and comments.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
%: /* nothing */ include /**/ "../reference/sum.h"
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) { if (threadIdx.x == 0 && blockIdx.x == 0) *out = reference_sum(x, n); }
