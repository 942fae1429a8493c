// A float4 body without a tail.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    unsigned int t = blockIdx.x * BLOCK + threadIdx.x;
    if (t < n / 4) {
        float4 u = ((const float4*)x)[t], v = ((float4*)y)[t];
        v.x += a * u.x; v.y += a * u.y; v.z += a * u.z; v.w += a * u.w;
        ((float4*)y)[t] = v;
    }
}
