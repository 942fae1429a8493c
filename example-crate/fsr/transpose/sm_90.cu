// idea: 4 x 4 register transpose into a swizzled shared tile, float4 on all four accesses
// fsr: BLOCK = 256
// fsr: TILE_ROWS = 64
// fsr: TILE_COLS = 64
// fsr: SHARED_BYTES = 0

extern "C" __global__ void __launch_bounds__(BLOCK)
transpose(const float* __restrict__ input, float* __restrict__ output, unsigned int rows, unsigned int cols)
{
    // Row c of the transposed tile holds column c of the input tile as 16 float4.
    __shared__ float4 turned[64][16];

    const unsigned int tiles_in_a_row = (cols + TILE_COLS - 1) / TILE_COLS;
    const unsigned int first_row = blockIdx.x / tiles_in_a_row * TILE_ROWS;
    const unsigned int first_col = blockIdx.x % tiles_in_a_row * TILE_COLS;
    const unsigned int quad = threadIdx.x % 16;
    const unsigned int line = threadIdx.x / 16;

    if (rows % 4 == 0 && cols % 4 == 0) {
        const unsigned int row = first_row + line * 4;
        const unsigned int col = first_col + quad * 4;
        if (row < rows && col < cols) {
            const float* from = input + (size_t)row * cols + col;
            const float4 a = __ldcs(reinterpret_cast<const float4*>(from));
            const float4 b = __ldcs(reinterpret_cast<const float4*>(from + cols));
            const float4 c = __ldcs(reinterpret_cast<const float4*>(from + 2 * (size_t)cols));
            const float4 d = __ldcs(reinterpret_cast<const float4*>(from + 3 * (size_t)cols));
            const unsigned int place = line ^ (quad & 7);
            turned[quad * 4 + 0][place] = make_float4(a.x, b.x, c.x, d.x);
            turned[quad * 4 + 1][place] = make_float4(a.y, b.y, c.y, d.y);
            turned[quad * 4 + 2][place] = make_float4(a.z, b.z, c.z, d.z);
            turned[quad * 4 + 3][place] = make_float4(a.w, b.w, c.w, d.w);
        }
        __syncthreads();
        const unsigned int out_col = first_row + quad * 4;
        #pragma unroll
        for (unsigned int k = 0; k < 4; ++k) {
            const unsigned int c = line + k * 16;
            const unsigned int out_row = first_col + c;
            if (out_row < cols && out_col < rows) {
                *reinterpret_cast<float4*>(output + (size_t)out_row * rows + out_col) =
                    turned[c][quad ^ (c / 4 & 7)];
            }
        }
    } else {
        float* tile = reinterpret_cast<float*>(turned);
        for (unsigned int i = threadIdx.x; i < 64 * 64; i += BLOCK) {
            const unsigned int y = i / 64;
            const unsigned int x = i % 64;
            if (first_row + y < rows && first_col + x < cols) {
                tile[x * 64 + (y ^ (x & 31))] = input[(size_t)(first_row + y) * cols + first_col + x];
            }
        }
        __syncthreads();
        for (unsigned int i = threadIdx.x; i < 64 * 64; i += BLOCK) {
            const unsigned int x = i / 64;
            const unsigned int y = i % 64;
            if (first_row + y < rows && first_col + x < cols) {
                output[(size_t)(first_col + x) * rows + first_row + y] = tile[x * 64 + (y ^ (x & 31))];
            }
        }
    }
}
