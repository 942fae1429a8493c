#include <cuda_fp16.h>
// c (M x N) = a (M x K, row major) * b (K x N, column major); one warp a 16 x 8 tile, ldmatrix through shared memory.
extern "C" __global__ void mma_f16(const half* a, const half* b, float* c, int M, int N, int K) {
    __shared__ __align__(16) half sa[16][16];
    __shared__ __align__(16) half sb[8][16];
    int lane = threadIdx.x, tm = blockIdx.y * 16, tn = blockIdx.x * 8;
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < K; k += 16) {
        for (int i = lane; i < 256; i += 32) sa[i / 16][i % 16] = a[(tm + i / 16) * K + k + i % 16];
        for (int i = lane; i < 128; i += 32) sb[i / 16][i % 16] = b[(tn + i / 16) * K + k + i % 16];
        __syncwarp();
        unsigned ra[4], rb[2];
        unsigned pa = (unsigned)__cvta_generic_to_shared(&sa[lane % 16][(lane / 16) * 8]);
        unsigned pb = (unsigned)__cvta_generic_to_shared(&sb[lane % 8][((lane / 8) % 2) * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
        __syncwarp();
    }
    int r = tm + lane / 4, q = tn + (lane % 4) * 2;
    c[r * N + q] = d[0]; c[r * N + q + 1] = d[1];
    c[(r + 8) * N + q] = d[2]; c[(r + 8) * N + q + 1] = d[3];
}
