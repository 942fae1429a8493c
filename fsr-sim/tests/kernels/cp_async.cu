#include <cuda_pipeline.h>
extern "C" __global__ void cp_async(const float4* in, float4* out, int n) {
    __shared__ float4 tile[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) __pipeline_memcpy_async(&tile[threadIdx.x], &in[i], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    int j = blockIdx.x * 256 + (255 - threadIdx.x);
    if (j < n && i < n) out[i] = tile[255 - threadIdx.x];
}
