#!/bin/sh
# Recompiles the corpus: ./build.sh <folder of the CUDA 13.0 toolkit>. Paths in the PTX are made relative.
set -e
cd "$(dirname "$0")"
for f in *.cu; do
    "$1/bin/nvcc" -arch=sm_80 -ptx -lineinfo -I"$1/include/cccl" "$f" -o "${f%.cu}.ptx"
    sed -i -E 's#^([[:space:]]*\.file[[:space:]]+[0-9]+ ")[^"]*/([^"/]+")#\1\2#' "${f%.cu}.ptx"
done
