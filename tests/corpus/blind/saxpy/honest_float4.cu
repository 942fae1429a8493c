// Uses float4 loads where both pointers are aligned, and scalars in the tail.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
    unsigned int t = blockIdx.x * BLOCK + threadIdx.x;
    unsigned int base = t * 4;
    bool aligned = (((unsigned long long)x | (unsigned long long)y) & 15) == 0;
    if (aligned && base + 3 < n) {
        float4 u = reinterpret_cast<const float4*>(x)[t];
        float4 v = reinterpret_cast<float4*>(y)[t];
        v.x += a * u.x; v.y += a * u.y; v.z += a * u.z; v.w += a * u.w;
        reinterpret_cast<float4*>(y)[t] = v;
    } else {
        for (unsigned int i = base; i < base + 4 && i < n; ++i) y[i] += a * x[i];
    }
}
