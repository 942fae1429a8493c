#!/bin/sh
# Recompiles the kernels here: ./build.sh <folder of the CUDA 13.0 toolkit>. Paths in the PTX are made relative.
set -e
cd "$(dirname "$0")"
for f in ${2:-*.cu}; do
    # Bulk copies came later.
    [ "$f" = bulk.cu ] && arch=sm_90 || arch=sm_80
    "$1/bin/nvcc" -arch=$arch -ptx -lineinfo -I"$1/include/cccl" "$f" -o "${f%.cu}.ptx"
    sed -i -E 's#^([[:space:]]*\.file[[:space:]]+[0-9]+ ")[^"]*/([^"/]+")#\1\2#' "${f%.cu}.ptx"
done
