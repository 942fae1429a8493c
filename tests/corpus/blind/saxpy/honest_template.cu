// A templated unroller that calls a lambda for each element.
// fsr: BLOCK = 256
// fsr: PER_THREAD = 4
template <int N> struct Unroll {
    template <class F> static __device__ __forceinline__ void go(F f) { Unroll<N - 1>::go(f); f(N - 1); }
};
template <> struct Unroll<0> {
    template <class F> static __device__ __forceinline__ void go(F) {}
};
extern "C" __global__ void __launch_bounds__(BLOCK) saxpy(unsigned int n, float a, const float* __restrict__ x, float* __restrict__ y) {
    const unsigned int base = blockIdx.x * BLOCK * PER_THREAD + threadIdx.x;
    Unroll<PER_THREAD>::go([&](int k) {
        const unsigned int i = base + k * BLOCK;
        if (i < n) y[i] = a * x[i] + y[i];
    });
}
