// Transposes tile by tile, without staging: reads are coalesced, writes are not.
//
// fsr: BLOCK = 256
// fsr: TILE_ROWS = 32
// fsr: TILE_COLS = 32
// fsr: SHARED_BYTES = 0

extern "C" __global__ void transpose(const float* input, float* output, unsigned int rows, unsigned int cols)
{
    const unsigned int tiles_in_a_row = (cols + TILE_COLS - 1) / TILE_COLS;
    const unsigned int first_row = blockIdx.x / tiles_in_a_row * TILE_ROWS;
    const unsigned int first_col = blockIdx.x % tiles_in_a_row * TILE_COLS;

    for (unsigned int i = threadIdx.x; i < TILE_ROWS * TILE_COLS; i += BLOCK) {
        const unsigned int row = first_row + i / TILE_COLS;
        const unsigned int col = first_col + i % TILE_COLS;
        if (row < rows && col < cols) {
            output[(size_t)col * rows + row] = input[(size_t)row * cols + col];
        }
    }
}
