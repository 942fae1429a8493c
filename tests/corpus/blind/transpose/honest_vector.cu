// Loads one float4 a thread where the tile is whole and the row aligned, scalars otherwise.
// fsr: BLOCK = 256
extern "C" __global__ void transpose(const float* x, float* y, unsigned int rows, unsigned int cols) {
    __shared__ float tile[32][33];
    const unsigned int tx = (cols + 31) / 32;
    const unsigned int r0 = blockIdx.x / tx * 32, c0 = blockIdx.x % tx * 32;
    const unsigned int i = threadIdx.x / 8, j = threadIdx.x % 8 * 4;
    if (r0 + i < rows) {
        const float* p = x + (size_t)(r0 + i) * cols + c0 + j;
        if (c0 + j + 3 < cols && ((unsigned long long)p & 15) == 0) {
            float4 v = *reinterpret_cast<const float4*>(p);
            tile[i][j] = v.x; tile[i][j + 1] = v.y; tile[i][j + 2] = v.z; tile[i][j + 3] = v.w;
        } else {
            for (int k = 0; k < 4; ++k) if (c0 + j + k < cols) tile[i][j + k] = p[k];
        }
    }
    __syncthreads();
    if (c0 + i < cols)
        for (int k = 0; k < 4; ++k)
            if (r0 + j + k < rows) y[(size_t)(c0 + i) * rows + r0 + j + k] = tile[j + k][i];
}
