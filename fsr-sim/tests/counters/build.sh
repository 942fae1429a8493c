#!/bin/sh
# Recompiles kernels.cu: ./build.sh <folder of the CUDA 13.0 toolkit>. Paths in the PTX are made relative.
set -e
cd "$(dirname "$0")"
"$1/bin/nvcc" -arch=sm_80 -ptx kernels.cu -o kernels.ptx
