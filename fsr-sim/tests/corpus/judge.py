#!/usr/bin/env python3
"""Launches one kernel of the corpus through the driver: `python3 judge.py KERNEL`; without a name, lists all.

Under compute-sanitizer this gives its verdict: `compute-sanitizer --tool racecheck python3 judge.py histogram`.
"""
import ctypes as C
import pathlib
import re
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
cases = {}
for path in sorted(HERE.glob("*.cu")):
    for launch, name in re.findall(r"^//: (.*)\nK (\w+)", path.read_text(), re.M):
        cases[name] = (path.with_suffix(".ptx"), launch.split())
if len(sys.argv) < 2:
    print(*cases, sep="\n")
    sys.exit()

cuda = C.CDLL("libcuda.so.1")


def check(code, what=""):
    if code:
        raise RuntimeError(f"{what}: driver error {code}")


ptx, launch = cases[sys.argv[1]]
device, context, module, function = C.c_int(), C.c_void_p(), C.c_void_p(), C.c_void_p()
check(cuda.cuInit(0))
check(cuda.cuDeviceGet(C.byref(device), 0))
check(cuda.cuDevicePrimaryCtxRetain(C.byref(context), device))
check(cuda.cuCtxSetCurrent(context))
# 13: keep line information.
keys, values = (C.c_int * 1)(13), (C.c_void_p * 1)(1)
check(cuda.cuModuleLoadDataEx(C.byref(module), ptx.read_bytes() + b"\0", 1, keys, values), ptx.name)
check(cuda.cuModuleGetFunction(C.byref(function), module, sys.argv[1].encode()))
block, grid, shared, arguments = [1, 1, 1], [1, 1, 1], 0, []
for word in launch:
    kind, n = word[0], int(word[1:].rstrip("L"))
    if kind in "zrn":
        buffer = C.c_uint64()
        check(cuda.cuMemAlloc_v2(C.byref(buffer), C.c_size_t(4 * n)))
        if kind != "n":
            data = struct.pack(f"<{n}I", *(range(n) if kind == "r" else [0] * n))
            check(cuda.cuMemcpyHtoD_v2(buffer, data, C.c_size_t(4 * n)))
        arguments.append(buffer)
    elif kind == "#":
        arguments.append(C.c_uint64(n) if word.endswith("L") else C.c_uint32(n))
    elif kind in "tx":
        block[0] = n
    elif kind == "y":
        block[1] = n
    elif kind == "b":
        grid[0] = n
    elif kind == "s":
        shared = n
pointers = (C.c_void_p * len(arguments))(*[C.addressof(a) for a in arguments])
check(cuda.cuLaunchKernel(function, *grid, *block, shared, None, pointers, None), "launch")
print("sync", cuda.cuCtxSynchronize())
