// Kernels whose counters and times are compared with a GPU's. `//:` lines before a kernel are its cases: a name, then x, y:
// threads of a block, b, g: blocks in x and y, f: buffer of n numbers from [0, 1), z: of n zeros, r: of 0, 1, 2, ...,
// p: of a permutation of n (a power of two), #: an integer (64 bits with L).
#define K extern "C" __global__ void
#define I (blockIdx.x * blockDim.x + threadIdx.x)

//: saxpy_1M x256 b4096 #1048576 f1048576 z1048576
//: saxpy_16M x256 b65536 #16777216 f16777216 z16777216
K saxpy(unsigned n, const float* x, float* y) { if (I < n) y[I] = 2.f * x[I] + y[I]; }

//: copy4_4M x256 b4096 f4194304 z4194304
//: copy4_16M x256 b16384 f16777216 z16777216
K copy4(const float4* x, float4* y) { y[I] = x[I]; }

//: stride2_1M x256 b4096 f2097152 z1048576 #2
//: stride8_1M x256 b4096 f8388608 z1048576 #8
//: stride32_1M x256 b4096 f33554432 z1048576 #32
K strided(const float* x, float* y, unsigned stride) { y[I] = x[I * stride]; }

//: offset_4M x256 b16384 f4194305 z4194304
K offset(const float* x, float* y) { y[I] = x[I + 1]; }

//: gather_1M x256 b4096 f1048576 p1048576 z1048576
//: gather_8M x256 b32768 f8388608 p8388608 z8388608
K gather(const float* x, const unsigned* at, float* y) { y[I] = x[at[I]]; }

//: transpose_naive_1024 x32 y8 b32 g128 f1048576 z1048576 #1024
//: transpose_naive_4096 x32 y8 b128 g512 f16777216 z16777216 #4096
K transpose_naive(const float* x, float* y, unsigned n)
{
    unsigned c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    y[c * n + r] = x[r * n + c];
}

//: transpose_conflicts_1024 x32 y8 b32 g32 f1048576 z1048576 #1024
//: transpose_conflicts_4096 x32 y8 b128 g128 f16777216 z16777216 #4096
K transpose_conflicts(const float* x, float* y, unsigned n)
{
    __shared__ float tile[32][32];
    unsigned c = blockIdx.x * 32, r = blockIdx.y * 32;
    for (unsigned j = threadIdx.y; j < 32; j += 8) tile[j][threadIdx.x] = x[(r + j) * n + c + threadIdx.x];
    __syncthreads();
    for (unsigned j = threadIdx.y; j < 32; j += 8) y[(c + j) * n + r + threadIdx.x] = tile[threadIdx.x][j];
}

//: transpose_padded_1024 x32 y8 b32 g32 f1048576 z1048576 #1024
//: transpose_padded_4096 x32 y8 b128 g128 f16777216 z16777216 #4096
K transpose_padded(const float* x, float* y, unsigned n)
{
    __shared__ float tile[32][33];
    unsigned c = blockIdx.x * 32, r = blockIdx.y * 32;
    for (unsigned j = threadIdx.y; j < 32; j += 8) tile[j][threadIdx.x] = x[(r + j) * n + c + threadIdx.x];
    __syncthreads();
    for (unsigned j = threadIdx.y; j < 32; j += 8) y[(c + j) * n + r + threadIdx.x] = tile[threadIdx.x][j];
}

//: reduce_shared_1M x256 b512 f1048576 z1 #1048576
//: reduce_shared_16M x256 b2048 f16777216 z1 #16777216
K reduce_shared(const float* x, float* sum, unsigned n)
{
    __shared__ float part[256];
    float v = 0.f;
    for (unsigned i = I; i < n; i += gridDim.x * blockDim.x) v += x[i];
    part[threadIdx.x] = v;
    __syncthreads();
    for (unsigned half = 128; half > 0; half >>= 1) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(sum, part[0]);
}

// Neighbouring threads sum neighbouring elements first: half of each warp goes idle, step by step.
//: reduce_divergent_1M x256 b4096 f1048576 z4096
K reduce_divergent(const float* x, float* sums)
{
    __shared__ float part[256];
    part[threadIdx.x] = x[I];
    __syncthreads();
    for (unsigned step = 1; step < 256; step *= 2) {
        if (threadIdx.x % (2 * step) == 0) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

//: rows_1024 x256 b4 f1048576 z1024 #1024
//: rows_8192 x256 b32 f8388608 z8192 #1024
K row_sums(const float* x, float* sums, unsigned cols)
{
    float v = 0.f;
    for (unsigned c = 0; c < cols; c++) v += x[I * cols + c];
    sums[I] = v;
}

//: columns_1024 x256 b4 f1048576 z1024 #1024 #1024
//: columns_8192 x256 b32 f8388608 z8192 #8192 #1024
K column_sums(const float* x, float* sums, unsigned cols, unsigned rows)
{
    float v = 0.f;
    for (unsigned r = 0; r < rows; r++) v += x[r * cols + I];
    sums[I] = v;
}

//: matmul_naive_256 x16 y16 b16 g16 f65536 f65536 z65536 #256
//: matmul_naive_512 x16 y16 b32 g32 f262144 f262144 z262144 #512
K matmul_naive(const float* a, const float* b, float* c, unsigned n)
{
    unsigned q = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    float v = 0.f;
    for (unsigned k = 0; k < n; k++) v += a[r * n + k] * b[k * n + q];
    c[r * n + q] = v;
}

//: matmul_tiled_256 x16 y16 b16 g16 f65536 f65536 z65536 #256
//: matmul_tiled_512 x16 y16 b32 g32 f262144 f262144 z262144 #512
K matmul_tiled(const float* a, const float* b, float* c, unsigned n)
{
    __shared__ float ta[16][16], tb[16][16];
    unsigned q = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    float v = 0.f;
    for (unsigned k = 0; k < n; k += 16) {
        ta[threadIdx.y][threadIdx.x] = a[r * n + k + threadIdx.x];
        tb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + q];
        __syncthreads();
        for (unsigned j = 0; j < 16; j++) v += ta[threadIdx.y][j] * tb[j][threadIdx.x];
        __syncthreads();
    }
    c[r * n + q] = v;
}

//: softmax_512 x256 b512 f524288 z524288 #1024
//: softmax_4096 x256 b4096 f4194304 z4194304 #1024
K softmax(const float* x, float* y, unsigned cols)
{
    __shared__ float part[256];
    const float* row = x + (unsigned long long)blockIdx.x * cols;
    float m = -INFINITY;
    for (unsigned c = threadIdx.x; c < cols; c += 256) m = fmaxf(m, row[c]);
    part[threadIdx.x] = m;
    __syncthreads();
    for (unsigned half = 128; half > 0; half >>= 1) {
        if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
        __syncthreads();
    }
    m = part[0];
    __syncthreads();
    float s = 0.f;
    for (unsigned c = threadIdx.x; c < cols; c += 256) s += __expf(row[c] - m);
    part[threadIdx.x] = s;
    __syncthreads();
    for (unsigned half = 128; half > 0; half >>= 1) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    s = part[0];
    for (unsigned c = threadIdx.x; c < cols; c += 256) y[(unsigned long long)blockIdx.x * cols + c] = __expf(row[c] - m) / s;
}

//: histogram_global_1M x256 b512 f1048576 z256 #1048576
K histogram_global(const float* x, unsigned* bins, unsigned n)
{
    for (unsigned i = I; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[(unsigned)(x[i] * 256.f)], 1u);
}

//: histogram_shared_1M x256 b512 f1048576 z256 #1048576
//: histogram_shared_8M x256 b1024 f8388608 z256 #8388608
K histogram_shared(const float* x, unsigned* bins, unsigned n)
{
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = I; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[(unsigned)(x[i] * 256.f)], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

//: stencil_1024 x32 y8 b32 g128 f1048576 z1048576 #1024
//: stencil_4096 x32 y8 b128 g512 f16777216 z16777216 #4096
K stencil(const float* x, float* y, unsigned n)
{
    unsigned c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (c == 0 || r == 0 || c + 1 == n || r + 1 == n) return;
    unsigned i = r * n + c;
    y[i] = 0.2f * (x[i] + x[i - 1] + x[i + 1] + x[i - n] + x[i + n]);
}

//: scan_1M x256 b4096 r1048576 z1048576
K scan(const unsigned* x, unsigned* y)
{
    __shared__ unsigned part[2][256];
    unsigned side = 0;
    part[0][threadIdx.x] = x[I];
    __syncthreads();
    for (unsigned step = 1; step < 256; step *= 2) {
        unsigned v = part[side][threadIdx.x];
        if (threadIdx.x >= step) v += part[side][threadIdx.x - step];
        side ^= 1;
        part[side][threadIdx.x] = v;
        __syncthreads();
    }
    y[I] = part[side][threadIdx.x];
}

//: bodies_2048 x128 b16 f8192 z2048 #2048
//: bodies_8192 x128 b64 f32768 z8192 #8192
K bodies(const float4* at, float* potential, unsigned n)
{
    float4 me = at[I];
    float v = 0.f;
    for (unsigned j = 0; j < n; j++) {
        float4 other = at[j];
        float x = me.x - other.x, y = me.y - other.y, z = me.z - other.z;
        v += other.w * rsqrtf(x * x + y * y + z * z + 1e-3f);
    }
    potential[I] = v;
}

//: collatz_256K x256 b1024 z262144
K collatz(unsigned* steps)
{
    unsigned long long v = I + 1;
    unsigned n = 0;
    while (v != 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        n++;
    }
    steps[I] = n;
}

//: doubles_1M x256 b4096 z1048576 #64
K doubles(float* y, unsigned n)
{
    double v = I * 1e-6;
    for (unsigned i = 0; i < n; i++) v = v * v * 0.25 + 0.5;
    y[I] = (float)v;
}
