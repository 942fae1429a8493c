#!/usr/bin/env python3
"""Records what a GPU gives for the kernels of wide.txt: `python3 record_wide.py h200/wide.lzma`, an LZMA stream.

The stream is a run of (u16 length of the name, u32 length of the results, name, results); no results: the driver's
compiler refuses the kernel, or it failed. Inputs come from SplitMix64, seeded by the case's name.
"""
import ctypes as C
import lzma
import pathlib
import signal
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
M64 = (1 << 64) - 1
INPUT = 8192


def stream(text):
    state = 0xcbf29ce484222325
    for byte in text.encode():
        state = ((state ^ byte) * 0x100000001b3) & M64
    while True:
        state = (state + 0x9e3779b97f4a7c15) & M64
        z = state
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & M64
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & M64
        yield z ^ (z >> 31)


def fill(kind, numbers, size):
    """`kind`: bits; fp8 (below 2, no NaN); f16, bf16, f32 (as tf32), f64 in [-1, 1]; with an i: integers to 8."""
    if kind in ("bits", "fp8"):
        mask = M64 if kind == "bits" else 0xbfbfbfbfbfbfbfbf
        return b"".join(struct.pack("<Q", next(numbers) & mask) for _ in range(size // 8))
    whole = kind.endswith("i")
    stem = kind[:-1] if whole else kind
    unit = 128 if stem == "bf16" else 1024
    out = []
    for _ in range(size // dict(f16=2, bf16=2, f32=4, f64=8)[stem]):
        n = next(numbers) >> 32
        v = float(n % 17 - 8) if whole else (n % (2 * unit + 1) - unit) / unit
        out.append({"f16": lambda: struct.pack("<e", v), "bf16": lambda: struct.pack("<f", v)[2:],
                    "f32": lambda: struct.pack("<f", v), "f64": lambda: struct.pack("<d", v)}[stem]())
    return b"".join(out)


def inputs(name, kinds):
    numbers, kinds = stream(name), kinds.split(",")
    return b"".join(fill(kind, numbers, INPUT // len(kinds)) for kind in kinds)


def cases():
    frame = (HERE / "wide_frame.ptx").read_text()
    for section in (HERE / "wide.txt").read_text().split("== ")[1:]:
        head, _, body = section.partition("\n")
        name, kinds, blocks, threads, out, _rule = head.split(" | ")
        lines = body.strip().split("\n")
        top = "\n".join(line[1:] for line in lines if line.startswith("^"))
        body = "\n".join(line for line in lines if not line.startswith("^"))
        yield name, kinds, int(blocks), int(threads), int(out), frame.replace("{top}", top).replace("{body}", body)


cuda = C.CDLL("libcuda.so.1")


def check(code, what=""):
    if code:
        raise RuntimeError(f"{what}: driver error {code}")


def child(path, first):
    """Appends the records of the cases from `first` to a file; dies with a case that fails or hangs."""
    device, context = C.c_int(), C.c_void_p()
    check(cuda.cuInit(0), "cuInit")
    check(cuda.cuDeviceGet(C.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(C.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))
    source, target = C.c_uint64(), C.c_uint64()
    check(cuda.cuMemAlloc_v2(C.byref(source), C.c_size_t(INPUT)))
    check(cuda.cuMemAlloc_v2(C.byref(target), C.c_size_t(1 << 16)))
    for name, kinds, blocks, threads, size, ptx in list(cases())[first:]:
        module, function, answer = C.c_void_p(), C.c_void_p(), b""
        log = C.create_string_buffer(2000)
        keys, values = (C.c_int * 2)(5, 6), (C.c_void_p * 2)(C.addressof(log), 2000)
        if cuda.cuModuleLoadDataEx(C.byref(module), ptx.encode() + b"\0", 2, keys, values):
            print("refused:", name, log.value.decode(errors="replace").replace("\n", " ")[:200], flush=True)
        else:
            data = inputs(name, kinds)
            check(cuda.cuMemcpyHtoD_v2(source, data, C.c_size_t(len(data))), name)
            check(cuda.cuMemsetD8_v2(target, 0, C.c_size_t(size)), name)
            check(cuda.cuModuleGetFunction(C.byref(function), module, b"k"))
            arguments = (C.c_void_p * 2)(C.addressof(source), C.addressof(target))
            signal.alarm(10)
            check(cuda.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, None, arguments, None), name)
            check(cuda.cuCtxSynchronize(), name)
            signal.alarm(0)
            out = C.create_string_buffer(size)
            check(cuda.cuMemcpyDtoH_v2(out, target, C.c_size_t(size)))
            answer = out.raw
            cuda.cuModuleUnload(module)
        with path.open("ab") as file:
            file.write(struct.pack("<HI", len(name), len(answer)) + name.encode() + answer)


def records(data):
    at = 0
    while at < len(data):
        head, body = struct.unpack_from("<HI", data, at)
        yield data[at + 6 : at + 6 + head].decode(), data[at + 6 + head : at + 6 + head + body]
        at += 6 + head + body


def main():
    path = pathlib.Path(sys.argv[1])
    raw = path.with_suffix(".raw")
    if len(sys.argv) > 2:
        return child(raw, int(sys.argv[2]))
    raw.write_bytes(b"")
    names = [case[0] for case in cases()]
    while (done := len(list(records(raw.read_bytes())))) < len(names):
        subprocess.run([sys.executable, __file__, path, str(done)], stderr=subprocess.DEVNULL)
        done = len(list(records(raw.read_bytes())))
        if done < len(names):
            print("failed:", names[done], flush=True)
            with raw.open("ab") as file:
                file.write(struct.pack("<HI", len(names[done]), 0) + names[done].encode())
    filters = [dict(id=lzma.FILTER_LZMA1, preset=9 | lzma.PRESET_EXTREME, lc=0, lp=2, pb=2)]
    path.write_bytes(lzma.compress(raw.read_bytes(), format=lzma.FORMAT_ALONE, filters=filters))
    print(f"{path}: {path.stat().st_size} bytes, {sum(not answer for _, answer in records(raw.read_bytes()))} without results")
    raw.unlink()


if __name__ == "__main__":
    main()
