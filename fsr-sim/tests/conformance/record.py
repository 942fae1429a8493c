#!/usr/bin/env python3
"""Records what a GPU gives for the forms of scalar.txt: `python3 record.py` writes h200/scalar.lzma.

Needs Python and a driver that loads PTX 8.0 for sm_90, nothing else. The file is an LZMA stream of (u16 length of the
form's line, u32 length of the results, line, results); no results: the driver's compiler refuses the form. Inputs come
from SplitMix64, seeded by the form's text; `inputs.rs` makes the same ones.
"""
import ctypes as C
import lzma
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
COUNT = 1024
M64 = (1 << 64) - 1
SIZE = dict(f32=4, f64=8, u32=4, s32=4, b32=4, u64=8, s64=8, b64=8, u16=2, s16=2, b16=2, f16=2, bf16=2,
            f16x2=4, bf16x2=4, u8=1, s8=1)
REGISTER = dict(f32="%f", f64="%d", u32="%r", s32="%r", b32="%r", u64="%q", s64="%q", b64="%q", u16="%h", s16="%h",
                b16="%h", f16="%h", bf16="%h", f16x2="%r", bf16x2="%r", u8="%h", s8="%h")
F32 = [0, 0x80000000, 1, 0x80000001, 0x7fffff, 0x800000, 0x00800001, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff,
       0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7fc12345, 0x3f000000, 0x3effffff, 0x3f000001,
       0x4b000000, 0x4b7fffff, 0xcf000000, 0x4f000000, 0x4f800000, 0x5f000000, 0x5f800000, 0x40490fdb, 0x7effffff,
       0x00ffffff, 0x33800000, 0x477fe000, 0x477fefff, 0x477ff000, 0x38800000, 0x387fffff, 0x33000000, 0x33000001]
F64 = [0, 1 << 63, 1, (1 << 63) | 1, 0x000fffffffffffff, 0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000000,
       0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
       0xfff8000000000000, 0x7ff0000000000001, 0x7ff8000012345678, 0x3fe0000000000000, 0x41e0000000000000,
       0xc1e0000000000000, 0x41f0000000000000, 0x43e0000000000000, 0x43f0000000000000, 0x47efffffe0000000,
       0x47effffff0000000, 0x36a0000000000000, 0x3690000000000000]
F16 = [0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xfe00,
       0x3555, 0x7fff, 0x7f80, 0x7f7f, 0x80, 0x7f]
INTEGERS = [0, 1, 2, 31, 32, 33, 63, 64, 0x7fffffff, 0x80000000, 0xffffffff, 0xffff, 0x10000, 0x8000, 0x7fff, 255,
            128, 127, 5, 0xfffffff0]


class Numbers:
    def __init__(self, text):
        self.state = 0xcbf29ce484222325
        for byte in text.encode():
            self.state = ((self.state ^ byte) * 0x100000001b3) & M64

    def next(self):
        self.state = (self.state + 0x9e3779b97f4a7c15) & M64
        z = self.state
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & M64
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & M64
        return z ^ (z >> 31)

    def between(self, low, high):
        return low + self.next() % (high - low)

    def pick(self, values):
        return values[self.next() % len(values)]

    def coin(self):
        return self.next() >> 63 == 0


def value(ty, numbers, k):
    size = SIZE[ty]
    bits = numbers.next() >> (64 - 8 * size)
    if ty == "f32":
        if k % 4 == 0:
            return numbers.pick(F32)
        if k % 4 == 1:
            return (numbers.between(100, 150) << 23) | (bits & 0x807fffff)
        return bits if k % 4 == 2 else (numbers.between(124, 131) << 23) | (bits & 0x807fffff)
    if ty == "f64":
        if k % 4 == 0:
            return numbers.pick(F64)
        if k % 4 == 1:
            return (numbers.between(950, 1100) << 52) | (bits & 0x800fffffffffffff)
        return bits if k % 4 == 2 else (numbers.between(1020, 1028) << 52) | (bits & 0x800fffffffffffff)
    if ty in ("f16", "bf16"):
        return numbers.pick(F16) if k % 2 else bits
    if ty in ("f16x2", "bf16x2"):
        return (numbers.pick(F16) << 16 | numbers.pick(F16)) if k % 2 else bits
    if k % 3 == 0:
        v = numbers.pick(INTEGERS)
        if size == 8 and numbers.coin():
            v = v << 32 | numbers.pick(INTEGERS)
        if v == 0x80000000 and size == 8 and numbers.coin():
            v = 1 << 63
        return v & ((1 << 8 * size) - 1)
    return bits & 0xff if k % 3 == 1 else bits


def access(ty):
    return ty if ty in ("u8", "s8") else {2: "b16", 4: "b32", 8: "b64"}[SIZE[ty]]


def kernel(text, result, sources):
    instruction, _, immediate = text.partition(",")
    lines = [".version 8.0", ".target sm_90", ".address_size 64",
             ".visible .entry k(.param .u64 o, .param .u64 i0, .param .u64 i1, .param .u64 i2, .param .u64 i3) {",
             ".reg .pred %p<4>; .reg .b32 %r<20>; .reg .f32 %f<10>; .reg .f64 %d<10>; .reg .b64 %q<40>; "
             ".reg .b16 %h<20>;",
             "mov.u32 %r10, %tid.x; mov.u32 %r11, %ctaid.x; mov.u32 %r12, %ntid.x; "
             "mad.lo.u32 %r10, %r11, %r12, %r10;"]

    def place(param, ty):
        lines.append(f"ld.param.u64 %q20, [{param}]; mul.wide.u32 %q21, %r10, {SIZE[ty]}; add.u64 %q20, %q20, %q21;")

    registers = []
    for k, ty in enumerate(sources):
        place(f"i{k}", ty)
        registers.append(f"{REGISTER[ty]}{k + 1}")
        lines.append(f"ld.global.{access(ty)} {registers[-1]}, [%q20];")
    predicate = text.startswith(("setp.", "testp."))
    out = REGISTER[result] + "9"
    immediate = "," + immediate if immediate else ""
    lines.append(f"{instruction} {'%p1' if predicate else out}, {', '.join(registers)}{immediate};")
    if predicate:
        lines.append("selp.u32 %r9, 1, 0, %p1;")
    place("o", result)
    lines.append(f"st.global.{access(result)} [%q20], {out};\nret;\n}}")
    return "\n".join(lines)


cuda = C.CDLL("libcuda.so.1")


def check(code, what=""):
    if code:
        raise RuntimeError(f"{what}: driver error {code}")


def main():
    device, context = C.c_int(), C.c_void_p()
    check(cuda.cuInit(0), "cuInit")
    check(cuda.cuDeviceGet(C.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(C.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))
    buffers = [C.c_uint64() for _ in range(5)]
    for buffer in buffers:
        check(cuda.cuMemAlloc_v2(C.byref(buffer), C.c_size_t(COUNT * 8)))
    recording, refused = b"", 0
    for line in (HERE / "scalar.txt").read_text().splitlines():
        text, result, sources = line.split("|")
        sources = sources.split(",")
        numbers = Numbers(text)
        for source, ty in enumerate(sources):
            pace = [i // 4**source if source < 3 else i for i in range(COUNT)]
            data = b"".join(value(ty, numbers, k).to_bytes(SIZE[ty], "little") for k in pace)
            check(cuda.cuMemcpyHtoD_v2(buffers[source + 1], data, C.c_size_t(len(data))))
        module, function, answer = C.c_void_p(), C.c_void_p(), b""
        ptx = kernel(text, result, sources).encode() + b"\0"
        if cuda.cuModuleLoadData(C.byref(module), ptx):
            refused += 1
        else:
            check(cuda.cuModuleGetFunction(C.byref(function), module, b"k"))
            arguments = (C.c_void_p * 5)(*[C.addressof(b) for b in buffers])
            check(cuda.cuLaunchKernel(function, COUNT // 256, 1, 1, 256, 1, 1, 0, None, arguments, None), line)
            check(cuda.cuCtxSynchronize(), line)
            out = C.create_string_buffer(COUNT * SIZE[result])
            check(cuda.cuMemcpyDtoH_v2(out, buffers[0], C.c_size_t(len(out))))
            check(cuda.cuModuleUnload(module))
            answer = out.raw
        recording += struct.pack("<HI", len(line), len(answer)) + line.encode() + answer
    filters = [dict(id=lzma.FILTER_LZMA1, preset=9 | lzma.PRESET_EXTREME, lc=0, lp=2, pb=2)]
    path = HERE / "h200" / "scalar.lzma"
    path.write_bytes(lzma.compress(recording, format=lzma.FORMAT_ALONE, filters=filters))
    print(f"{path}: {path.stat().st_size} bytes, {refused} forms refused")


if __name__ == "__main__":
    main()
