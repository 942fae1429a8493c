#define T 16
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float sa[T][T], sb[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float acc = 0.f;
    for (int k = 0; k < n; k += T) {
        sa[threadIdx.y][threadIdx.x] = (row < n && k + threadIdx.x < n) ? a[row * n + k + threadIdx.x] : 0.f;
        sb[threadIdx.y][threadIdx.x] = (col < n && k + threadIdx.y < n) ? b[(k + threadIdx.y) * n + col] : 0.f;
        __syncthreads();
        for (int i = 0; i < T; ++i) acc += sa[threadIdx.y][i] * sb[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = acc;
}
