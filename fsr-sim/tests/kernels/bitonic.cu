extern "C" __global__ void bitonic(int* x, int j, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, p = i ^ j;
    if (p > i) {
        int a = x[i], b = x[p];
        bool up = (i & k) == 0;
        if ((a > b) == up) { x[i] = b; x[p] = a; }
    }
}
