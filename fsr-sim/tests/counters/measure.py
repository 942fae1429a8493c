#!/usr/bin/env python3
"""Launches the cases of kernels.cu through the driver.

    measure.py list           names
    measure.py launch NAME..  launches each once, for a profiler
    measure.py time           prints, as JSON, the median microseconds of each with a cold second-level cache
"""
import ctypes as C
import json
import pathlib
import re
import struct
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
cases, waiting = {}, []
for line in (HERE / "kernels.cu").read_text().splitlines():
    if line.startswith("//: "):
        waiting.append(line[4:].split())
    elif line.startswith("K "):
        kernel = re.match(r"K (\w+)", line).group(1)
        cases.update({name: (kernel, words) for name, *words in waiting})
        waiting = []

cuda = C.CDLL("libcuda.so.1")


def check(code, what=""):
    if code:
        raise RuntimeError(f"{what}: driver error {code}")


def buffer(kind, n):
    i = np.arange(n, dtype=np.uint32)
    if kind == "f":
        data = ((i * np.uint32(2654435761)) >> np.uint32(8)).astype(np.float32) / np.float32(1 << 24)
    elif kind == "p":
        data = (i * np.uint32(2654435761)) & np.uint32(n - 1)
    else:
        data = i if kind == "r" else np.zeros(n, np.uint32)
    data = np.ascontiguousarray(data).view(np.uint8)
    address = C.c_uint64()
    check(cuda.cuMemAlloc_v2(C.byref(address), C.c_size_t(data.nbytes)), "allocate")
    check(cuda.cuMemcpyHtoD_v2(address, data.ctypes.data_as(C.c_void_p), C.c_size_t(data.nbytes)))
    return address


class Case:
    def __init__(self, name):
        kernel, words = cases[name]
        self.function = C.c_void_p()
        check(cuda.cuModuleGetFunction(C.byref(self.function), module, kernel.encode()), kernel)
        self.block, self.grid, self.buffers, self.arguments = [1, 1, 1], [1, 1, 1], [], []
        for word in words:
            kind, n = word[0], int(word[1:].rstrip("L"))
            if kind in "fzrp":
                self.buffers.append(buffer(kind, n))
                self.arguments.append(self.buffers[-1])
            elif kind == "#":
                self.arguments.append(C.c_uint64(n) if word.endswith("L") else C.c_uint32(n))
            else:
                where, axis = {"x": (self.block, 0), "y": (self.block, 1), "b": (self.grid, 0), "g": (self.grid, 1)}[kind]
                where[axis] = n
        self.pointers = (C.c_void_p * len(self.arguments))(*[C.addressof(a) for a in self.arguments])

    def launch(self):
        check(cuda.cuLaunchKernel(self.function, *self.grid, *self.block, 0, None, self.pointers, None), "launch")

    def free(self):
        for address in self.buffers:
            check(cuda.cuMemFree_v2(address))


if sys.argv[1:2] == ["list"]:
    print(*cases, sep="\n")
    sys.exit()
device, context, module = C.c_int(), C.c_void_p(), C.c_void_p()
check(cuda.cuInit(0))
check(cuda.cuDeviceGet(C.byref(device), 0))
check(cuda.cuDevicePrimaryCtxRetain(C.byref(context), device))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(C.byref(module), (HERE / "kernels.ptx").read_bytes() + b"\0"), "load")
if sys.argv[1] == "launch":
    for name in sys.argv[2:] or cases:
        case = Case(name)
        case.launch()
        check(cuda.cuCtxSynchronize(), name)
        case.free()
elif sys.argv[1] == "time":
    begin, end, flush = C.c_void_p(), C.c_void_p(), C.c_uint64()
    check(cuda.cuEventCreate(C.byref(begin), 0))
    check(cuda.cuEventCreate(C.byref(end), 0))
    check(cuda.cuMemAlloc_v2(C.byref(flush), C.c_size_t(256 << 20)))
    times = {}
    for name in cases:
        case, samples = Case(name), []
        for sample in range(25):
            check(cuda.cuMemsetD32Async(flush, sample, C.c_size_t(64 << 20), None))
            check(cuda.cuEventRecord(begin, None))
            case.launch()
            check(cuda.cuEventRecord(end, None))
            check(cuda.cuEventSynchronize(end), name)
            elapsed = C.c_float()
            check(cuda.cuEventElapsedTime(C.byref(elapsed), begin, end))
            samples.append(elapsed.value * 1000)
        times[name] = round(sorted(samples[5:])[10], 3)
        case.free()
    print(json.dumps(times, indent=1))
else:
    sys.exit(__doc__)
