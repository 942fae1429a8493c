// One warp a query row, d = 64: two columns a lane; streaming softmax.
extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* o, int n, float scale) {
    int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (row >= n) return;
    float2 qq = reinterpret_cast<const float2*>(q + row * 64)[lane];
    float m = -INFINITY, l = 0.f, ax = 0.f, ay = 0.f;
    for (int j = 0; j < n; ++j) {
        float2 kk = reinterpret_cast<const float2*>(k + j * 64)[lane];
        float s = qq.x * kk.x + qq.y * kk.y;
        for (int off = 16; off > 0; off >>= 1) s += __shfl_xor_sync(0xffffffffu, s, off);
        s *= scale;
        float nm = fmaxf(m, s), c = __expf(m - nm), p = __expf(s - nm);
        float2 vv = reinterpret_cast<const float2*>(v + j * 64)[lane];
        ax = ax * c + p * vv.x; ay = ay * c + p * vv.y; l = l * c + p; m = nm;
    }
    reinterpret_cast<float2*>(o + row * 64)[lane] = make_float2(ax / l, ay / l);
}
