// Error-free f32 two-sum in each thread; high and low parts joined in double.
// fsr: BLOCK = 128
// fsr: BLOCKS = 16
__device__ __forceinline__ void two_sum(float& s, float& e, float v) {
    float t = __fadd_rn(s, v);
    float z = __fsub_rn(t, s);
    e = __fadd_rn(e, __fadd_rn(__fsub_rn(s, __fsub_rn(t, z)), __fsub_rn(v, z)));
    s = t;
}
extern "C" __global__ void sum(const float* x, double* out, unsigned int n) {
    float s = 0.0f, e = 0.0f;
    for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * BLOCKS) two_sum(s, e, x[i]);
    double d = (double)s + (double)e;
    if (d != 0.0) atomicAdd(out, d);
}
