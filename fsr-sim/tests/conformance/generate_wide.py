#!/usr/bin/env python3
"""Writes wide.txt: kernels of memory, atomic, warp, matrix and control instructions, each with its shape.

A case is a head, `== name | inputs | blocks | threads | bytes of output | rule`, and the body of a kernel; lines that
begin with `^` go before the kernel. The frame around a body is in `wide_frame.ptx`: %q1 is the input, %q2 the output (zeros
at the start), %r1 the thread, %r2 the thread of the grid, %r3 the lane.
"""
import pathlib

cases = []


def case(name, body, inputs="bits", blocks=1, threads=64, out=None, rule="bits", top=""):
    out = out if out is not None else 16 * blocks * threads
    lines = [f"== {name} | {inputs} | {blocks} | {threads} | {out} | {rule}"]
    lines += ["^" + line.strip() for line in top.strip().splitlines() if line.strip()]
    lines += [line.strip() for line in body.strip().splitlines() if line.strip()]
    cases.append("\n".join(lines))


SIZE = dict(b8=1, u8=1, s8=1, b16=2, u16=2, s16=2, b32=4, u32=4, s32=4, f32=4, b64=8, u64=8, s64=8, f64=8)
REG = dict(b8="%r", u8="%r", s8="%r", b16="%h", u16="%h", s16="%h", b32="%r", u32="%r", s32="%r", f32="%f", b64="%q",
           u64="%q", s64="%q", f64="%d")
STORE = {"%r": "b32", "%h": "b16", "%f": "f32", "%q": "b64", "%d": "f64"}


def at(reg, base, index, size, extra=0):
    """reg = base + index * size + extra"""
    return f"mul.wide.u32 {reg}, {index}, {size}; add.u64 {reg}, {reg}, {base};" + (f" add.u64 {reg}, {reg}, {extra};" if extra else "")


OUT = at("%q3", "%q2", "%r2", 16)
IN = at("%q4", "%q1", "%r2", 16)


def vec(regs):
    return regs[0] if len(regs) == 1 else "{" + ", ".join(regs) + "}"


# ---- loads and stores ----
def fill_shared():
    """Each thread copies 16 bytes of its input to shared memory; %r9 is the place."""
    return f"{IN} ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%q4]; mov.u32 %r8, sh; mad.lo.u32 %r9, %r1, 16, %r8; st.shared.v4.b32 [%r9], {{%r20, %r21, %r22, %r23}}; bar.sync 0;"


def fill_local():
    return f"{IN} ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%q4]; mov.u64 %q9, lo; st.local.v4.b32 [%q9], {{%r20, %r21, %r22, %r23}};"


def put(regs, n=0):
    kind = regs[0][:2]
    size = {"%r": 4, "%h": 2, "%f": 4, "%q": 8, "%d": 8}[kind]
    return " ".join(f"st.global.{STORE[kind]} [%q3+{k * size}], {r};" for k, r in enumerate(regs))


const = ", ".join(str((i * 2654435761 + 97) & 0xffffffff) for i in range(64))
TOPS = dict(shared=".shared .align 16 .b8 sh[4096];", const=f".const .align 16 .b32 co[64] = {{{const}}};")
for ty in SIZE:
    for n in (1, 2, 4):
        if n * SIZE[ty] > 16:
            continue
        v = "" if n == 1 else f".v{n}"
        regs = [f"{REG[ty]}{30 + k}" for k in range(n)]
        targets = [regs]
        if n == 1 and ty in ("u8", "s8", "b8", "u16", "s16", "u32", "s32"):
            targets.append(["%q30"])
            if SIZE[ty] == 1:
                targets.append(["%h30"])
            if SIZE[ty] == 2:
                targets.append(["%r30"])
        for regs in targets:
            to = "" if regs[0][:2] == REG[ty] else " to " + {"%q": "64", "%h": "16", "%r": "32"}[regs[0][:2]] + " bits"
            case(f"ld.global{v}.{ty}{to}", f"{IN} {OUT} ld.global{v}.{ty} {vec(regs)}, [%q4]; {put(regs)}")
            case(f"ld.shared{v}.{ty}{to}", f"{fill_shared()} {OUT} xor.b32 %r9, %r9, 16; ld.shared{v}.{ty} {vec(regs)}, [%r9]; {put(regs)}", top=TOPS["shared"])
            case(f"ld.local{v}.{ty}{to}", f".local .align 16 .b8 lo[16]; {fill_local()} {OUT} ld.local{v}.{ty} {vec(regs)}, [%q9]; {put(regs)}")
            case(f"ld.const{v}.{ty}{to}", f"{OUT} and.b32 %r9, %r1, 15; mul.wide.u32 %q9, %r9, 16; mov.u64 %q10, co; add.u64 %q9, %q9, %q10; ld.const{v}.{ty} {vec(regs)}, [%q9]; {put(regs)}", top=TOPS["const"])
            case(f"ld{v}.{ty}{to} (generic, of shared)", f"{fill_shared()} {OUT} cvt.u64.u32 %q9, %r9; cvta.shared.u64 %q9, %q9; ld{v}.{ty} {vec(regs)}, [%q9]; {put(regs)}", top=TOPS["shared"])
        # stores: of registers that hold more bits than are stored, too
        for wide in ([False, True] if n == 1 and SIZE[ty] < 4 else [False]):
            reg = "%q" if wide else REG[ty]
            size = SIZE[STORE[reg]]
            src = [f"{reg}{30 + k}" for k in range(n)]
            load = " ".join(f"ld.global.{STORE[reg]} {r}, [%q4+{k * size % 16}];" for k, r in enumerate(src))
            to = " of 64 bits" if wide else ""
            case(f"st.global{v}.{ty}{to}", f"{IN} {OUT} {load} st.global{v}.{ty} [%q3], {vec(src)};")
            case(f"st.shared{v}.{ty}{to}", f"{fill_shared()} {load} st.shared{v}.{ty} [%r9], {vec(src)}; bar.sync 0; {OUT} xor.b32 %r9, %r9, 16; ld.shared.v4.b32 {{%r40, %r41, %r42, %r43}}, [%r9]; st.global.v4.b32 [%q3], {{%r40, %r41, %r42, %r43}};", top=TOPS["shared"])
            case(f"st.local{v}.{ty}{to}", f".local .align 16 .b8 lo[16]; {fill_local()} {load} st.local{v}.{ty} [%q9], {vec(src)}; {OUT} ld.local.v4.b32 {{%r40, %r41, %r42, %r43}}, [%q9]; st.global.v4.b32 [%q3], {{%r40, %r41, %r42, %r43}};")
            case(f"st{v}.{ty}{to} (generic, to local)", f".local .align 16 .b8 lo[16]; {fill_local()} {load} cvta.local.u64 %q10, %q9; st{v}.{ty} [%q10], {vec(src)}; {OUT} ld.local.v4.b32 {{%r40, %r41, %r42, %r43}}, [%q9]; st.global.v4.b32 [%q3], {{%r40, %r41, %r42, %r43}};")
for hint in ("ca", "cg", "cs", "lu", "cv", "nc", "ca.nc", "cs.nc", "L1::evict_last", "L1::no_allocate", "L2::128B"):
    ops = ".global.nc" if hint == "nc" else f".global.{hint}"
    if hint.endswith(".nc"):
        ops = f".global.{hint[:2]}.nc"
    case(f"ld{ops}.v2.u32", f"{IN} {OUT} ld{ops}.v2.u32 {{%r30, %r31}}, [%q4]; {put(['%r30', '%r31'])}")
for hint in ("wb", "cg", "cs", "wt", "L1::evict_first"):
    case(f"st.global.{hint}.v2.u32", f"{IN} {OUT} ld.global.v2.u32 {{%r30, %r31}}, [%q4]; st.global.{hint}.v2.u32 [%q3], {{%r30, %r31}};")
case("ld.volatile and st.volatile", f"{IN} {OUT} ld.volatile.global.u64 %q30, [%q4]; st.volatile.global.u64 [%q3], %q30;")
for scope in ("cta", "gpu", "sys", "cluster"):
    case(f"ld.relaxed.{scope} and st.relaxed.{scope}", f"{IN} {OUT} ld.relaxed.{scope}.global.u32 %r30, [%q4]; st.relaxed.{scope}.global.u32 [%q3], %r30;")
    case(f"ld.acquire.{scope} and st.release.{scope}", f"{IN} {OUT} ld.acquire.{scope}.global.u32 %r30, [%q4]; st.release.{scope}.global.u32 [%q3], %r30; fence.acq_rel.{scope};" + ("" if scope == "cluster" else f" fence.sc.{scope};"))
case("prefetch", f"{IN} {OUT} prefetch.global.L1 [%q4]; prefetch.global.L2 [%q4]; ld.global.u32 %r30, [%q4]; st.global.u32 [%q3], %r30;")
case("isspacep", f"""{fill_shared()} {OUT} cvt.u64.u32 %q9, %r9; cvta.shared.u64 %q9, %q9; .local .align 16 .b8 lo[16]; mov.u64 %q10, lo; cvta.local.u64 %q10, %q10;
""" + " ".join(f"isspacep.{s} %p1, {q}; selp.u32 %r30, {1 << (3 * k + j)}, 0, %p1; or.b32 %r31, %r31, %r30;" for k, s in enumerate(("global", "shared", "local")) for j, q in enumerate(("%q1", "%q9", "%q10"))).join(["mov.u32 %r31, 0; ", " st.global.u32 [%q3], %r31;"]), top=TOPS["shared"])
case("global variables with initial values", f"""{OUT} and.b32 %r9, %r1, 3; mul.wide.u32 %q9, %r9, 4; mov.u64 %q10, gv; add.u64 %q9, %q9, %q10; ld.global.f32 %f30, [%q9]; mov.u64 %q10, gp; ld.global.u64 %q11, [%q10]; ld.u8 %r30, [%q11+2]; st.global.f32 [%q3], %f30; st.global.u32 [%q3+4], %r30; ld.global.s16 %r31, [gs+2]; st.global.u32 [%q3+8], %r31; ld.global.b64 %q12, [gz]; st.global.u32 [%q3+12], %r31;""",
     top=".global .align 4 .f32 gv[4] = {0f3F800000, 0f40000000, 0fC0400000, 0f7F800000};\n.global .align 2 .u16 gs[3] = {1, 65534, 7};\n.global .align 4 .u8 gb[4] = {9, 8, 250, 6};\n.global .align 8 .u64 gp = generic(gb);\n.global .align 8 .b64 gz;")

# ---- cp.async ----
for kind, n in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
    for size in (None, 0, n // 2, n):
        extra = "" if size is None else f", {size}"
        case(f"cp.async.{kind}.shared.global of {n}{' taking ' + str(size) if size is not None else ''}",
             f"{fill_shared()} add.u64 %q4, %q4, 1024; cp.async.{kind}.shared.global [%r9], [%q4], {n}{extra}; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; xor.b32 %r9, %r9, 16; {OUT} ld.shared.v4.b32 {{%r40, %r41, %r42, %r43}}, [%r9]; st.global.v4.b32 [%q3], {{%r40, %r41, %r42, %r43}};", top=TOPS["shared"])
case("cp.async groups", f"""{fill_shared()} add.u64 %q5, %q4, 1024; add.u64 %q6, %q4, 2048; cp.async.ca.shared.global [%r9], [%q5], 8; cp.async.commit_group; cp.async.ca.shared.global [%r9+8], [%q6], 8; cp.async.commit_group; cp.async.wait_group 1;
{OUT} ld.shared.v2.b32 {{%r40, %r41}}, [%r9]; st.global.v2.b32 [%q3], {{%r40, %r41}}; cp.async.wait_all; ld.shared.v2.b32 {{%r40, %r41}}, [%r9+8]; st.global.v2.b32 [%q3+8], {{%r40, %r41}};""", top=TOPS["shared"])
case("cp.async with mbarrier", f"""{IN} mov.u32 %r8, sh; mad.lo.u32 %r9, %r1, 16, %r8; setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [mb], 64; bar.sync 0;
cp.async.ca.shared.global [%r9], [%q4], 16; cp.async.mbarrier.arrive.noinc.shared.b64 [mb]; W: mbarrier.test_wait.parity.shared.b64 %p2, [mb], 0; @!%p2 bra W; xor.b32 %r9, %r9, 16; {OUT} ld.shared.v4.b32 {{%r40, %r41, %r42, %r43}}, [%r9]; st.global.v4.b32 [%q3], {{%r40, %r41, %r42, %r43}};""", top=TOPS["shared"] + "\n.shared .align 8 .b64 mb;")
case("mbarrier phases", f"""{OUT} setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [mb], 64; bar.sync 0; mov.u32 %r31, 0; mov.u32 %r32, 0;
L: mbarrier.arrive.shared.b64 %q10, [mb]; W: mbarrier.try_wait.shared.b64 %p2, [mb], %q10; @!%p2 bra W; add.u32 %r31, %r31, 1; setp.lt.u32 %p3, %r31, 5; @%p3 bra L; mbarrier.test_wait.parity.shared.b64 %p4, [mb], 0; selp.u32 %r33, 1, 0, %p4; mbarrier.test_wait.parity.shared.b64 %p4, [mb], 1; selp.u32 %r34, 1, 0, %p4; st.global.v4.u32 [%q3], {{%r31, %r33, %r34, %r32}};""", top=".shared .align 8 .b64 mb;")
case("mbarrier.pending_count and arrive with a count", f"""{OUT} setp.eq.u32 %p1, %r1, 0; @!%p1 bra E; mbarrier.init.shared.b64 [mb], 12; mbarrier.arrive.shared.b64 %q10, [mb]; mbarrier.pending_count.b64 %r30, %q10; mbarrier.arrive.release.cta.shared.b64 %q10, [mb], 4; mbarrier.pending_count.b64 %r31, %q10; mbarrier.arrive_drop.shared.b64 %q10, [mb]; mbarrier.pending_count.b64 %r32, %q10; mbarrier.arrive.shared.b64 %q10, [mb], 6; mbarrier.pending_count.b64 %r33, %q10; st.global.v4.u32 [%q3], {{%r30, %r31, %r32, %r33}}; E:""", top=".shared .align 8 .b64 mb;")
case("mbarrier.expect_tx and cp.async.bulk", f"""mov.u32 %r8, sh; mad.lo.u32 %r9, %r1, 16, %r8; setp.eq.u32 %p1, %r1, 0; @!%p1 bra S; mbarrier.init.shared.b64 [mb], 1; fence.mbarrier_init.release.cluster; fence.proxy.async; mbarrier.arrive.expect_tx.shared.b64 %q10, [mb], 1024; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sh], [%q1], 1024, [mb]; S: bar.sync 0; W: mbarrier.try_wait.parity.shared.b64 %p2, [mb], 0; @!%p2 bra W; xor.b32 %r9, %r9, 16; {OUT} ld.shared.v4.b32 {{%r40, %r41, %r42, %r43}}, [%r9]; st.global.v4.b32 [%q3], {{%r40, %r41, %r42, %r43}};""", top=".shared .align 128 .b8 sh[4096];\n.shared .align 8 .b64 mb;")
case("cp.async.bulk to global", f"""{fill_shared()} fence.proxy.async; bar.sync 0; setp.eq.u32 %p1, %r1, 0; @!%p1 bra E; cp.async.bulk.global.shared::cta.bulk_group [%q2], [sh], 1024; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:""", top=".shared .align 128 .b8 sh[4096];")

# ---- atomics ----
ATOMS = [("add", t) for t in ("u32", "s32", "u64", "f32", "f64")] + [(o, t) for o in ("min", "max") for t in ("u32", "s32", "u64", "s64")]
ATOMS += [(o, t) for o in ("and", "or", "xor") for t in ("b32", "b64")] + [("exch", "b32"), ("exch", "b64"), ("cas", "b32"), ("cas", "b64"), ("inc", "u32"), ("dec", "u32"), ("cas", "b16")]
ATOMS += [("add.noftz", t) for t in ("f16", "f16x2", "bf16", "bf16x2")]
SZ2 = dict(SIZE, f16=2, bf16=2, f16x2=4, bf16x2=4)
RG2 = dict(REG, f16="%h", bf16="%h", f16x2="%r", bf16x2="%r")
KIND = dict(f32="f32i", f64="f64i", f16="f16i", bf16="bf16i", f16x2="f16i", bf16x2="bf16i")
for op, ty in ATOMS:
    s, r = SZ2[ty], RG2[ty]
    raw = {2: "b16", 4: "b32", 8: "b64"}[s]
    if raw == "b32" and r == "%f":
        raw = "f32"
    if raw == "b64" and r == "%d":
        raw = "f64"
    kind = KIND.get(ty, "bits")
    third = f", {r}33" if op == "cas" else ""
    # Each thread its own word: the old value and the new one. A comparison succeeds for even threads.
    load = f"{IN} ld.global.{raw} {r}30, [%q4]; ld.global.{raw} {r}31, [%q4+8]; mov.{'b16' if s == 2 else raw} {r}33, {r}31;"
    if op == "cas":
        load += f" ld.global.{raw} {r}33, [%q4+8]; mov.{raw} {r}31, {r}30; and.b32 %r12, %r1, 1; setp.eq.u32 %p1, %r12, 1; @%p1 not.{raw} {r}31, {r}30;"
    if op in ("inc", "dec"):
        load += " and.b32 %r12, %r1, 1; setp.eq.u32 %p1, %r12, 1; @%p1 add.u32 %r31, %r30, 0; and.b32 %r12, %r1, 7; setp.eq.u32 %p1, %r12, 7; @%p1 mov.u32 %r30, 0;"
    dot = op.split(".")
    for space in ("global", "shared", "generic"):
        sp = "" if space == "generic" else f".{space}"
        if space == "shared":
            place, addr, top = f"mov.u32 %r8, sh; mad.lo.u32 %r9, %r1, 16, %r8; st.shared.{raw} [%r9], {r}30; bar.sync 0;", "[%r9]", TOPS["shared"]
            back = f"bar.sync 0; ld.shared.{raw} {r}34, [%r9];"
        elif space == "generic":
            place, addr, top = f"mov.u32 %r8, sh; mad.lo.u32 %r9, %r1, 16, %r8; st.shared.{raw} [%r9], {r}30; bar.sync 0; cvt.u64.u32 %q9, %r9; cvta.shared.u64 %q9, %q9;", "[%q9]", TOPS["shared"]
            back = f"bar.sync 0; ld.shared.{raw} {r}34, [%r9];"
        else:
            place, addr, top, back = f"st.global.{raw} [%q3], {r}30;", "[%q3]", "", ""
        keep = f"{back} st.global.{raw} [%q3], {r}34;" if back else ""
        case(f"atom{sp}.{op}.{ty}", f"{load} {OUT} {place} atom{sp}.{op}.{ty} {r}32, {addr}, {r}31{third}; {keep} st.global.{raw} [%q3+8], {r}32;", inputs=kind, top=top)
        if op not in ("exch", "cas"):
            case(f"red{sp}.{op}.{ty}", f"{load} {OUT} {place} red{sp}.{op}.{ty} {addr}, {r}31; {keep}", inputs=kind, top=top)
    if op not in ("exch", "cas"):
        # All threads of two blocks, four words.
        red = f"and.b32 %r12, %r1, 3; {at('%q3', '%q2', '%r12', 16)}"
        bound = "ld.global.u32 %r31, [%q1]; and.b32 %r31, %r31, 31;" if op in ("inc", "dec") else ""
        case(f"atom.global.{op}.{ty} contended", f"{IN} ld.global.{raw} {r}31, [%q4+8]; {bound} {red} atom.global.{op}.{ty} {r}32, [%q3], {r}31;", inputs=kind, blocks=2, out=64)
        case(f"red.global.{op}.{ty} contended", f"{IN} ld.global.{raw} {r}31, [%q4+8]; {bound} {red} red.global.{op}.{ty} [%q3], {r}31;", inputs=kind, blocks=2, out=64)
for sem in ("relaxed", "acquire", "release", "acq_rel"):
    for scope in ("cta", "gpu", "sys"):
        case(f"atom.{sem}.{scope}.global.add.u32", f"{IN} ld.global.u32 %r31, [%q4]; and.b32 %r12, %r1, 3; {at('%q3', '%q2', '%r12', 16)} atom.{sem}.{scope}.global.add.u32 %r32, [%q3], %r31;", blocks=2, out=64)
for op, t, kind in (("v2.f32.add", "f32", "f32i"), ("v4.f32.add", "f32", "f32i")):
    n = int(op[1])
    rs = "{" + ", ".join(f"%f{30 + k}" for k in range(n)) + "}"
    ds = "{" + ", ".join(f"%f{40 + k}" for k in range(n)) + "}"
    word, rest = op.split(".", 1)
    case(f"red.global.add.{word}.f32", f"{IN} ld.global.v{n}.f32 {rs}, [%q4]; and.b32 %r12, %r1, 3; {at('%q3', '%q2', '%r12', 16)} red.global.add.{word}.f32 [%q3], {rs};", inputs=kind, blocks=2, out=64)
    case(f"atom.global.add.{word}.f32", f"{IN} {OUT} ld.global.v{n}.f32 {rs}, [%q4]; st.global.v{n}.f32 [%q3], {rs}; atom.global.add.{word}.f32 {ds}, [%q3], {rs};", inputs=kind)
case("a lock of compare and swap", f"""mov.u32 %r31, 0; L: atom.global.cas.b32 %r30, [%q2], 0, 1; setp.ne.u32 %p1, %r30, 0; @%p1 bra N; ld.volatile.global.u32 %r32, [%q2+4]; add.u32 %r32, %r32, %r2; st.volatile.global.u32 [%q2+4], %r32; membar.gl; atom.global.exch.b32 %r30, [%q2], 0; mov.u32 %r31, 1; N: setp.eq.u32 %p2, %r31, 0; @%p2 bra L;""", blocks=2, out=16)

# ---- warps ----
LOADR = f"{IN} {OUT} ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%q4];"
for mode in ("up", "down", "bfly", "idx"):
    for c in ("0x1f", "0x181f", "0x101c", "0x0", "0x1c1f"):
        c = "0x0" if mode == "up" and c == "0x1f" else c
        for b in ("%r21", "1", "5", "16"):
            case(f"shfl.sync.{mode}.b32 by {'a register' if b[0] == '%' else b} in {c}", f"{LOADR} and.b32 %r21, %r21, 31; shfl.sync.{mode}.b32 %r30|%p1, %r20, {b}, {c}, 0xffffffff; selp.u32 %r31, 1, 0, %p1; st.global.v2.u32 [%q3], {{%r30, %r31}};")
    case(f"shfl.sync.{mode}.b32 without a predicate", f"{LOADR} shfl.sync.{mode}.b32 %r30, %r20, 3, {'0' if mode == 'up' else '0x1f'}, -1; st.global.u32 [%q3], %r30;")
    case(f"shfl.sync.{mode}.b32 in halves", f"{LOADR} setp.lt.u32 %p1, %r3, 16; mov.u32 %r30, 0; @%p1 bra A; shfl.sync.{mode}.b32 %r30, %r20, 2, {'0x1000' if mode == 'up' else '0x101f'}, 0xffff0000; bra B; A: shfl.sync.{mode}.b32 %r30, %r21, 1, {'0x1000' if mode == 'up' else '0x101f'}, 0xffff; B: st.global.u32 [%q3], %r30;")
seen = set()
cases[:] = [c for c in cases if not (c.split("\n")[0] in seen or seen.add(c.split("\n")[0]))]
for mode in ("all", "any", "uni"):
    for neg in ("", "!"):
        for k, test in enumerate(("setp.lt.u32 %p1, %r20, 0x80000000;", "setp.ge.u32 %p1, %r20, 0;", "setp.lt.u32 %p1, %r1, 32;")):
            case(f"vote.sync.{mode}.pred {neg}p {k}", f"{LOADR} {test} vote.sync.{mode}.pred %p2, {neg}%p1, 0xffffffff; selp.u32 %r30, 1, 0, %p2; st.global.u32 [%q3], %r30;")
case("vote.sync.ballot.b32", f"{LOADR} setp.lt.s32 %p1, %r20, 0; vote.sync.ballot.b32 %r30, %p1, 0xffffffff; vote.sync.ballot.b32 %r31, !%p1, -1; st.global.v2.u32 [%q3], {{%r30, %r31}};")
case("vote.sync.ballot.b32 of some lanes", f"{LOADR} and.b32 %r22, %r3, 5; setp.eq.u32 %p1, %r22, 5; @!%p1 bra E; setp.lt.s32 %p2, %r20, 0; vote.sync.ballot.b32 %r30, %p2, 0xa0a0a0a0; activemask.b32 %r31; st.global.v2.u32 [%q3], {{%r30, %r31}}; E:")
for ty in ("b32", "b64"):
    r = "%r20" if ty == "b32" else "%q20"
    make = "and.b32 %r20, %r20, 3;" if ty == "b32" else "and.b32 %r20, %r20, 1; and.b32 %r21, %r21, 1; mov.b64 %q20, {%r20, %r21};"
    case(f"match.any.sync.{ty}", f"{LOADR} {make} match.any.sync.{ty} %r30, {r}, 0xffffffff; st.global.u32 [%q3], %r30;")
    same = f"setp.lt.u32 %p1, %r1, 32; @%p1 mov.{ty} {r}, 7;"
    case(f"match.all.sync.{ty}", f"{LOADR} {make} {same} match.all.sync.{ty} %r30|%p2, {r}, 0xffffffff; selp.u32 %r31, 1, 0, %p2; st.global.v2.u32 [%q3], {{%r30, %r31}};")
for op, tys in (("add", "su"), ("min", "su"), ("max", "su"), ("and", "b"), ("or", "b"), ("xor", "b")):
    for t in tys:
        case(f"redux.sync.{op}.{t}32", f"{LOADR} redux.sync.{op}.{t}32 %r30, %r20, 0xffffffff; st.global.u32 [%q3], %r30;")
        case(f"redux.sync.{op}.{t}32 of some lanes", f"{LOADR} and.b32 %r22, %r3, 3; setp.eq.u32 %p1, %r22, 1; @!%p1 bra E; redux.sync.{op}.{t}32 %r30, %r20, 0x22222222; st.global.u32 [%q3], %r30; E:")
case("elect.sync", f"{LOADR} elect.sync %r30|%p1, 0xffffffff; selp.u32 %r31, 1, 0, %p1; st.global.v2.u32 [%q3], {{%r30, %r31}};")
for op, t in (("popc", "u32"), ("and", "pred"), ("or", "pred")):
    dst, done = ("%r30", "") if t == "u32" else ("%p2", "selp.u32 %r30, 1, 0, %p2;")
    for neg in ("", "!"):
        for lim in ("0x80000000", "0xffffffff", "0"):
            case(f"bar.red.{op}.{t} {neg}p below {lim}", f"{LOADR} setp.lt.u32 %p1, %r20, {lim}; bar.red.{op}.{t} {dst}, 0, {neg}%p1; {done} st.global.u32 [%q3], %r30;")
    case(f"barrier.red.{op}.{t} of one warp", f"{LOADR} setp.lt.u32 %p1, %r20, 0x80000000; shr.u32 %r40, %r1, 5; add.u32 %r40, %r40, 1; barrier.cta.red.{op}.{t} {dst}, %r40, 32, %p1; {done} st.global.u32 [%q3], %r30;")
case("bar.arrive and bar.sync", f"{LOADR} mov.u32 %r8, sh; mad.lo.u32 %r9, %r1, 4, %r8; setp.lt.u32 %p1, %r1, 32; @%p1 bra P; bar.sync 1, 64; ld.shared.u32 %r30, [%r9+-128]; st.global.u32 [%q3], %r30; bra E; P: st.shared.u32 [%r9], %r20; bar.arrive 1, 64; E:", top=TOPS["shared"])
case("bar.warp.sync and activemask", f"{LOADR} setp.lt.u32 %p1, %r3, 7; @%p1 bra P; bar.warp.sync 0xffffff80; activemask.b32 %r30; bra E; P: bar.warp.sync 0x7f; activemask.b32 %r30; E: st.global.u32 [%q3], %r30;")
case("lane masks and special registers", f"{OUT} mov.u32 %r20, %lanemask_eq; mov.u32 %r21, %lanemask_lt; mov.u32 %r22, %lanemask_le; mov.u32 %r23, %lanemask_gt; add.u32 %r21, %r21, %r22; mov.u32 %r24, %lanemask_ge; add.u32 %r23, %r23, %r24; mov.u32 %r25, %laneid; mov.u32 %r26, %nctaid.x; mad.lo.u32 %r25, %r26, 1000, %r25; mov.u32 %r26, %ntid.x; mad.lo.u32 %r25, %r26, 100000, %r25; mov.u32 %r26, WARP_SZ; add.u32 %r25, %r25, %r26; st.global.v4.u32 [%q3], {{%r20, %r21, %r23, %r25}};", blocks=3)
for n in (1, 2, 4):
    for t in ("", ".trans"):
        regs = "{" + ", ".join(f"%r{30 + k}" for k in range(n)) + "}"
        out4 = "st.global.v4.b32 [%q3], {%r30, %r31, %r32, %r33};"
        clear = "mov.u32 %r30, 0; mov.u32 %r31, 0; mov.u32 %r32, 0; mov.u32 %r33, 0;"
        case(f"ldmatrix.sync.aligned.m8n8.x{n}{t}.shared.b16", f"{fill_shared()} {OUT} {clear} xor.b32 %r9, %r9, 48; ldmatrix.sync.aligned.m8n8.x{n}{t}.shared.b16 {regs}, [%r9]; {out4}", top=TOPS["shared"])
        case(f"stmatrix.sync.aligned.m8n8.x{n}{t}.shared.b16", f"{fill_shared()} {OUT} {IN} ld.global.v4.b32 {{%r30, %r31, %r32, %r33}}, [%q4]; xor.b32 %r9, %r9, 48; stmatrix.sync.aligned.m8n8.x{n}{t}.shared.b16 [%r9], {regs}; bar.sync 0; ld.shared.v4.b32 {{%r30, %r31, %r32, %r33}}, [%r9]; {out4}", top=TOPS["shared"])
case("movmatrix.sync.aligned.m8n8.trans.b16", f"{LOADR} movmatrix.sync.aligned.m8n8.trans.b16 %r30, %r20; st.global.u32 [%q3], %r30;")

# ---- mma ----
def mma(shape, types, a, b, c, mods="", layout="row.col", reals=True):
    """a, b, c: (registers, kind of register) of the fragments; 32 threads. d is as c."""
    d_, a_, b_, c_ = types
    m, rest = shape[1:].split("n")
    wide = {"%r": 4, "%f": 4, "%d": 8}
    size = lambda frag: frag[0] * wide[frag[1]]
    ld = lambda base, frag, start: " ".join(f"ld.global.{'f64' if frag[1] == '%d' else 'f32' if frag[1] == '%f' else 'b32'} {frag[1]}{start + k}, [{base}+{k * wide[frag[1]]}];" for k in range(frag[0]))
    lists = lambda frag, start: "{" + ", ".join(f"{frag[1]}{start + k}" for k in range(frag[0])) + "}"
    stem = {"f16": "f16", "bf16": "bf16", "tf32": "f32", "f64": "f64", "e4m3": "fp8", "e5m2": "fp8"}.get(a_, "bits")
    kinds = [stem + "i", stem] if stem in ("f16", "bf16", "f32", "f64") else [stem]
    kc = {"f16": "f16", "f32": "f32", "f64": "f64"}.get(c_, "bits")
    for kind in kinds:
        ck = kc + ("i" if kind.endswith("i") and kind != "bits" else "")
        # The accumulator lies in its own half of the input.
        both = kind if kind == ck else f"{kind},{ck}"
        rule = "bits" if kind.endswith("i") or kind == "bits" else {"f64": "sum", "f16": "half sum"}.get(d_, "sum")
        step = lambda frag: 32 * size(frag)
        lo = 2 if layout is not None else 0
        name = f"mma.sync.aligned.{shape}.{layout}{mods}.{d_}.{a_}.{b_}.{c_}" if ".popc" not in mods else f"mma.sync.aligned.{shape}.{layout}.{d_}.{a_}.{b_}.{c_}{mods}"
        body = f"{at('%q10', '%q1', '%r1', size(a))} {at('%q11', '%q1', '%r1', size(b), step(a))} {at('%q12', '%q1', '%r1', size(c), 4096)} {at('%q13', '%q2', '%r1', size(c))} {ld('%q10', a, 1 if a[1] != '%r' else 20)} {ld('%q11', b, 10 if b[1] != '%r' else 30)} {ld('%q12', c, 20 if c[1] != '%r' else 40)} "
        body += f"{name} {lists(c, 30 if c[1] != '%r' else 50)}, {lists(a, 1 if a[1] != '%r' else 20)}, {lists(b, 10 if b[1] != '%r' else 30)}, {lists(c, 20 if c[1] != '%r' else 40)}; "
        body += " ".join(f"st.global.{'f64' if c[1] == '%d' else 'f32' if c[1] == '%f' else 'b32'} [%q13+{k * wide[c[1]]}], {c[1]}{(30 if c[1] != '%r' else 50) + k};" for k in range(c[0]))
        suffix = " of integers" if kind.endswith("i") else ""
        case(name + suffix, body, inputs=both, threads=32, out=step(c), rule=rule)


R = lambda n: (n, "%r")
F = lambda n: (n, "%f")
D = lambda n: (n, "%d")
for ty in ("f16", "bf16"):
    mma("m16n8k16", ("f32", ty, ty, "f32"), R(4), R(2), F(4))
    mma("m16n8k8", ("f32", ty, ty, "f32"), R(2), R(1), F(4))
mma("m16n8k16", ("f16", "f16", "f16", "f16"), R(4), R(2), R(2))
mma("m16n8k8", ("f16", "f16", "f16", "f16"), R(2), R(1), R(2))
for l in ("row.col", "row.row", "col.row", "col.col"):
    mma("m8n8k4", ("f32", "f16", "f16", "f32"), R(2), R(2), F(8), layout=l)
    mma("m8n8k4", ("f16", "f16", "f16", "f16"), R(2), R(2), R(4), layout=l)
mma("m16n8k4", ("f32", "tf32", "tf32", "f32"), R(2), R(1), F(4))
mma("m16n8k8", ("f32", "tf32", "tf32", "f32"), R(4), R(2), F(4))
mma("m8n8k4", ("f64", "f64", "f64", "f64"), D(1), D(1), D(2))
mma("m16n8k4", ("f64", "f64", "f64", "f64"), D(2), D(1), D(4))
mma("m16n8k8", ("f64", "f64", "f64", "f64"), D(4), D(2), D(4))
mma("m16n8k16", ("f64", "f64", "f64", "f64"), D(8), D(4), D(4))
for x in ("s8", "u8"):
    for y in ("s8", "u8"):
        for sat in ("", ".satfinite"):
            mma("m8n8k16", ("s32", x, y, "s32"), R(1), R(1), R(2), mods=sat)
            mma("m16n8k16", ("s32", x, y, "s32"), R(2), R(1), R(4), mods=sat)
            mma("m16n8k32", ("s32", x, y, "s32"), R(4), R(2), R(4), mods=sat)
for x in ("s4", "u4"):
    for y in ("s4", "u4"):
        mma("m8n8k32", ("s32", x, y, "s32"), R(1), R(1), R(2))
        mma("m16n8k32", ("s32", x, y, "s32"), R(2), R(1), R(4))
        mma("m16n8k64", ("s32", x, y, "s32"), R(4), R(2), R(4))
for op in (".xor.popc", ".and.popc"):
    mma("m8n8k128", ("s32", "b1", "b1", "s32"), R(1), R(1), R(2), mods=op)
    mma("m16n8k128", ("s32", "b1", "b1", "s32"), R(2), R(1), R(4), mods=op)
    mma("m16n8k256", ("s32", "b1", "b1", "s32"), R(4), R(2), R(4), mods=op)
for x in ("e4m3", "e5m2"):
    for y in ("e4m3", "e5m2"):
        mma("m16n8k32", ("f32", x, y, "f32"), R(4), R(2), F(4))


# ---- wmma ----
def wmma(shape, d, ab, c, la, lb, ld_, store, na, nb, nc, kind, space="global", b=None):
    m, n, k = (int(x) for x in shape[1:].replace("n", " ").replace("k", " ").split())
    bits = dict(f16=16, bf16=16, tf32=32, f64=64, s8=8, u8=8, s4=4, u4=4, b1=1, f32=32, s32=32)
    pair = ("f16", "bf16", "tf32", "f64")
    ra = "%d" if ab == "f64" else "%r"
    rc = {"f32": "%f", "f64": "%d"}.get(c, "%r")
    rd = {"f32": "%f", "f64": "%d"}.get(d, "%r")
    frag = lambda r, s, cnt: "{" + ", ".join(f"{r}{s + i}" for i in range(cnt)) + "}"
    lda, ldb = (k if la == "row" else m), (k if lb == "col" else n)
    ldc, ldd = (n if ld_ == "row" else m), (n if store == "row" else m)
    exact = kind.endswith("i") or kind == "bits"
    ck = {"f16": "f16", "f32": "f32", "f64": "f64"}.get(c, "bits") + ("i" if exact and c[0] == "f" else "")
    both = kind if kind == ck else f"{kind},{ck}"
    body = "add.u64 %q11, %q1, 2048; add.u64 %q12, %q1, 4096; "
    top = ""
    pa, pb, sp = "[%q1]", "[%q11]", ".global"
    if space == "shared":
        top = TOPS["shared"]
        body += "ld.global.b64 %q20, [%q1]; " + f"""mov.u32 %r8, sh; mov.u32 %r10, %r1; C: mul.wide.u32 %q21, %r10, 8; add.u64 %q22, %q21, %q1; ld.global.b64 %q23, [%q22]; cvt.u32.u64 %r11, %q21; add.u32 %r11, %r11, %r8; st.shared.b64 [%r11], %q23; add.u32 %r10, %r10, 32; setp.lt.u32 %p1, %r10, 512; @%p1 bra C; bar.sync 0; """
        pa, pb, sp = "[sh]", "[%q11]", ".shared"
    body += f"wmma.load.a.sync.aligned.{la}.{shape}{sp}.{ab} {frag(ra, 10 if ra == '%r' else 1, na)}, {pa}, {lda}; wmma.load.b.sync.aligned.{lb}.{shape}.global.{b or ab} {frag(ra, 20 if ra == '%r' else 5, nb)}, {pb}, {ldb}; "
    body += f"wmma.load.c.sync.aligned.{ld_}.{shape}.global.{c} {frag(rc, 30, nc) if rc != '%d' else frag(rc, 10, nc)}, [%q12], {ldc}; "
    types = f".{ab}.{b or ab}" if ab not in ("f16",) else ""
    pop = ".xor.popc" if ab == "b1" else ""
    what = f"wmma.mma{pop}.sync.aligned.{la}.{lb}.{shape}.{d}{types}.{c}" if ab != "f64" else f"wmma.mma.sync.aligned.{la}.{lb}.{shape}.rn.f64.f64.f64.f64"
    dd = frag(rd, 40, nc) if rd != "%d" else frag(rd, 20, nc)
    if rd == "%r" and d == "f16":
        dd = frag(rd, 40, 4)
    if c == "f16":
        body = body.replace(frag(rc, 30, nc), frag(rc, 30, 4))
    cc = (frag(rc, 30, nc) if c != "f16" else frag(rc, 30, 4)) if rc != "%d" else frag(rc, 10, nc)
    body += f"{what} {dd}, {frag(ra, 10 if ra == '%r' else 1, na)}, {frag(ra, 20 if ra == '%r' else 5, nb)}, {cc}; wmma.store.d.sync.aligned.{store}.{shape}.global.{d} [%q2], {dd}, {ldd};"
    rule = "bits" if exact else ("half sum" if d == "f16" else "sum")
    suffix = (" of integers" if kind.endswith("i") else "") + (" from shared memory" if space == "shared" else "") + f" c {ld_} d {store}"
    case(f"{what}{suffix}", body, inputs=both, threads=32, out=m * n * bits[d] // 8, rule=rule, top=top)


for shape in ("m16n16k16", "m32n8k16", "m8n32k16"):
    na8, nb8 = {"m16n16k16": (2, 2), "m32n8k16": (4, 1), "m8n32k16": (1, 4)}[shape]
    nab, nbb = {"m16n16k16": (4, 4), "m32n8k16": (8, 2), "m8n32k16": (2, 8)}[shape]
    for la in ("row", "col"):
        for lb in ("row", "col"):
            for d in ("f16", "f32"):
                for c in ("f16", "f32"):
                    for kind in ("f16i", "f16"):
                        wmma(shape, d, "f16", c, la, lb, la, lb, 8, 8, 8, kind)
            wmma(shape, "s32", "s8", "s32", la, lb, lb, la, na8, nb8, 8, "bits")
            wmma(shape, "s32", "u8", "s32", la, lb, lb, la, na8, nb8, 8, "bits")
            for kind in ("bf16i", "bf16"):
                wmma(shape, "f32", "bf16", "f32", la, lb, la, la, nab, nbb, 8, kind)
    wmma(shape, "f32", "f16", "f32", "row", "col", "row", "row", 8, 8, 8, "f16i", space="shared")
for la in ("row", "col"):
    for lb in ("row", "col"):
        for kind in ("f32i", "f32"):
            wmma("m16n16k8", "f32", "tf32", "f32", la, lb, la, lb, 4, 4, 8, kind)
        for kind in ("f64i", "f64"):
            wmma("m8n8k4", "f64", "f64", "f64", la, lb, la, lb, 1, 1, 2, kind)
for t in ("s4", "u4"):
    wmma("m8n8k32", "s32", t, "s32", "row", "col", "row", "row", 1, 1, 2, "bits")
wmma("m8n8k128", "s32", "b1", "s32", "row", "col", "row", "row", 1, 1, 2, "bits")

# ---- several results, carries, control ----
case("add.cc, addc.cc, addc of 96 bits", f"{IN} {OUT} ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%q4]; ld.global.v4.b32 {{%r24, %r25, %r26, %r27}}, [%q4+2048]; add.cc.u32 %r30, %r20, %r24; addc.cc.u32 %r31, %r21, %r25; addc.cc.s32 %r32, %r22, %r26; addc.u32 %r33, %r23, %r27; st.global.v4.b32 [%q3], {{%r30, %r31, %r32, %r33}};")
case("sub.cc, subc.cc, subc of 96 bits", f"{IN} {OUT} ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%q4]; ld.global.v4.b32 {{%r24, %r25, %r26, %r27}}, [%q4+2048]; sub.cc.u32 %r30, %r20, %r24; subc.cc.u32 %r31, %r21, %r25; subc.cc.s32 %r32, %r22, %r26; subc.u32 %r33, %r23, %r27; st.global.v4.b32 [%q3], {{%r30, %r31, %r32, %r33}};")
case("add.cc and addc of 64 bits", f"{IN} {OUT} ld.global.v2.b64 {{%q20, %q21}}, [%q4]; ld.global.v2.b64 {{%q22, %q23}}, [%q4+2048]; add.cc.u64 %q30, %q20, %q22; addc.u64 %q31, %q21, %q23; st.global.v2.b64 [%q3], {{%q30, %q31}};")
case("mad.lo.cc and madc", f"{IN} {OUT} ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%q4]; mad.lo.cc.u32 %r30, %r20, %r21, %r22; madc.hi.cc.u32 %r31, %r20, %r21, %r23; madc.lo.cc.u32 %r32, %r21, %r22, %r20; madc.hi.u32 %r33, %r21, %r22, %r20; st.global.v4.b32 [%q3], {{%r30, %r31, %r32, %r33}};")
case("mad.hi.cc.s32", f"{IN} {OUT} ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%q4]; mad.hi.cc.s32 %r30, %r20, %r21, %r22; addc.s32 %r31, %r23, 0; st.global.v2.b32 [%q3], {{%r30, %r31}};")
for comb in ("and", "or", "xor"):
    for neg in ("", "!"):
        case(f"setp.lt.{comb}.u32 p|q with {neg}c", f"{LOADR} setp.gt.s32 %p3, %r22, 0; setp.lt.{comb}.u32 %p1|%p2, %r20, %r21, {neg}%p3; selp.u32 %r30, 1, 0, %p1; selp.u32 %r31, 1, 0, %p2; st.global.v2.u32 [%q3], {{%r30, %r31}};")
        case(f"set.ge.{comb}.s32.f32 with {neg}c", f"{IN} {OUT} ld.global.v4.f32 {{%f20, %f21, %f22, %f23}}, [%q4]; setp.gt.f32 %p3, %f22, 0f00000000; set.ge.{comb}.s32.f32 %r30, %f20, %f21, {neg}%p3; st.global.u32 [%q3], %r30;")
for t in ("f16x2", "bf16x2"):
    for c in ("eq", "lt", "geu", "num", "nan"):
        case(f"setp.{c}.{t} p|q", f"{LOADR} setp.{c}.{t} %p1|%p2, %r20, %r21; selp.u32 %r30, 1, 0, %p1; selp.u32 %r31, 1, 0, %p2; st.global.v2.u32 [%q3], {{%r30, %r31}};", inputs=t[:-2] + "i")
for t, r in (("b16", "%h"), ("b32", "%r"), ("b64", "%q"), ("f32", "%f"), ("f64", "%d")):
    case(f"selp.{t}", f"{IN} {OUT} ld.global.{t if t[0] == 'f' else t} {r}20, [%q4]; ld.global.{t} {r}21, [%q4+8]; ld.global.u32 %r22, [%q4+4]; setp.lt.s32 %p1, %r22, 0; selp.{t} {r}30, {r}20, {r}21, %p1; st.global.{t} [%q3], {r}30;")
case("mov of vectors", f"{IN} {OUT} ld.global.v2.b64 {{%q20, %q21}}, [%q4]; mov.b64 {{%r20, %r21}}, %q20; mov.b64 %q30, {{%r21, %r20}}; mov.b64 {{%h20, %h21, %h22, %h23}}, %q21; mov.b32 %r22, {{%h23, %h20}}; mov.b32 {{%h24, %h25}}, %r20; mov.b32 %r23, {{%h25, %h24}}; st.global.b64 [%q3], %q30; st.global.v2.b32 [%q3+8], {{%r22, %r23}};")
case("and.pred, or.pred, xor.pred, not.pred", f"{LOADR} setp.lt.s32 %p1, %r20, 0; setp.lt.s32 %p2, %r21, 0; and.pred %p3, %p1, %p2; selp.u32 %r30, 1, 0, %p3; or.pred %p3, %p1, !%p2; selp.u32 %r31, 1, 0, %p3; xor.pred %p3, %p1, %p2; selp.u32 %r32, 1, 0, %p3; not.pred %p3, %p1; mov.pred %p4, %p3; selp.u32 %r33, 1, 0, %p4; st.global.v4.u32 [%q3], {{%r30, %r31, %r32, %r33}};".replace("or.pred %p3, %p1, !%p2;", "or.pred %p3, %p1, %p2;"))
case("lop3 with a predicate", f"{LOADR} setp.lt.s32 %p2, %r22, 0; lop3.or.b32 %r30|%p1, %r20, %r21, %r22, 0x96, %p2; selp.u32 %r31, 1, 0, %p1; lop3.and.b32 %r32|%p1, %r20, %r20, %r22, 0x30, %p2; selp.u32 %r33, 1, 0, %p1; st.global.v4.u32 [%q3], {{%r30, %r31, %r32, %r33}};")
case("brx.idx", f"{LOADR} and.b32 %r21, %r20, 3; T: .branchtargets A, B, C, D; brx.idx %r21, T; A: mov.u32 %r30, 11; bra E; B: mov.u32 %r30, 22; bra E; C: add.u32 %r30, %r20, 33; bra E; D: mov.u32 %r30, 44; E: st.global.u32 [%q3], %r30;")
case("a loop of its own length in each thread", f"{LOADR} and.b32 %r21, %r20, 31; mov.u32 %r30, 0; L: setp.eq.u32 %p1, %r21, 0; @%p1 bra E; mad.lo.u32 %r30, %r30, 3, %r21; sub.u32 %r21, %r21, 1; bra L; E: st.global.u32 [%q3], %r30;")
case("call with every type", f"""{IN} {OUT} ld.global.u8 %r20, [%q4]; ld.global.s16 %r21, [%q4+2]; ld.global.f32 %f20, [%q4+4]; ld.global.f64 %d20, [%q4+8]; {{ .param .b32 a; .param .b32 b; .param .f32 c; .param .f64 d; .param .align 8 .b8 r[16]; st.param.b32 [a], %r20; st.param.b32 [b], %r21; st.param.f32 [c], %f20; st.param.f64 [d], %d20; call (r), mix, (a, b, c, d); ld.param.v2.b64 {{%q30, %q31}}, [r]; }} st.global.v2.b64 [%q3], {{%q30, %q31}};""",
     top=""".func (.param .align 8 .b8 r[16]) mix(.param .b32 a, .param .b32 b, .param .f32 c, .param .f64 d) {
.reg .b32 %r<4>; .reg .f32 %f<2>; .reg .f64 %d<3>;
ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; add.s32 %r3, %r1, %r2; ld.param.f32 %f1, [c]; ld.param.f64 %d1, [d]; neg.f64 %d2, %d1;
st.param.b32 [r], %r3; st.param.f32 [r+4], %f1; st.param.f64 [r+8], %d1; ret; }""")
case("recursion", f"""{LOADR} and.b32 %r21, %r20, 7; {{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r21; call (r), fact, (a); ld.param.b32 %r30, [r]; }} st.global.u32 [%q3], %r30;""",
     top=""".func (.param .b32 r) fact(.param .b32 a) {
.reg .b32 %r<6>; .reg .pred %p1;
ld.param.b32 %r1, [a]; setp.gt.u32 %p1, %r1, 1; mov.u32 %r3, 1; @!%p1 bra E; sub.u32 %r2, %r1, 1;
{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; call (y), fact, (x); ld.param.b32 %r3, [y]; }
mul.lo.u32 %r3, %r3, %r1; E: st.param.b32 [r], %r3; ret; }""")
case("call through a register", f"""{LOADR} and.b32 %r21, %r20, 1; setp.eq.u32 %p1, %r21, 1; mov.u64 %q20, one; mov.u64 %q21, two; selp.b64 %q22, %q20, %q21, %p1; {{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r20; P: .callprototype (.param .b32 _) _ (.param .b32 _); call (r), %q22, (a), P; ld.param.b32 %r30, [r]; }} st.global.u32 [%q3], %r30;""",
     top=""".func (.param .b32 r) one(.param .b32 a) { .reg .b32 %r<2>; ld.param.b32 %r1, [a]; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }
.func (.param .b32 r) two(.param .b32 a) { .reg .b32 %r<2>; ld.param.b32 %r1, [a]; mul.lo.u32 %r1, %r1, 2; st.param.b32 [r], %r1; ret; }""")
case("video of bytes and vectors", f"{LOADR} vadd.u32.u32.u32.sat %r30, %r20.b0, %r21.b1; st.global.u32 [%q3], %r30;")
case("nanosleep, clock, globaltimer", f"{OUT} mov.u32 %r20, %clock; mov.u64 %q20, %clock64; mov.u64 %q21, %globaltimer; nanosleep.u32 100; mov.u64 %q22, %clock64; setp.gt.u64 %p1, %q22, %q20; selp.u32 %r30, 1, 0, %p1; st.global.u32 [%q3], %r30;")
case("exit of some threads", f"{LOADR} setp.lt.s32 %p1, %r20, 0; @%p1 exit; st.global.u32 [%q3], %r20;")
case("griddepcontrol and discard", f"{LOADR} griddepcontrol.wait; griddepcontrol.launch_dependents; st.global.u32 [%q3], %r20;")

# ---- carries of every width and sign ----
LOAD64 = f"{IN} {OUT} ld.global.v2.b64 {{%q20, %q21}}, [%q4]; ld.global.v2.b64 {{%q22, %q23}}, [%q4+2048];"
LOAD32 = f"{IN} {OUT} ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%q4]; ld.global.v4.b32 {{%r24, %r25, %r26, %r27}}, [%q4+2048];"
for ty in ("u32", "s32", "u64", "s64"):
    wide64 = ty.endswith("64")
    load, r = (LOAD64, "%q") if wide64 else (LOAD32, "%r")
    # The second operand is often the first's complement, or all ones: carries run through.
    near = " ".join(f"@%p{1 + k} {op};" for k, op in enumerate((f"not.b{ty[1:]} {r}22, {r}20", f"mov.b{ty[1:]} {r}22, -1")))
    near = f"and.b32 %r40, %r1, 3; setp.eq.u32 %p1, %r40, 1; setp.eq.u32 %p2, %r40, 2; {near}"
    last = f"st.global.v2.b64 [%q3], {{%q30, %q31}};" if wide64 else f"st.global.v2.b32 [%q3], {{%r30, %r31}}; addc.u32 %r32, 0, 0; st.global.b32 [%q3+8], %r32;"
    for op in ("add", "sub"):
        case(f"{op}.cc.{ty}, {op}c.{ty}", f"{load} {near} {op}.cc.{ty} {r}30, {r}20, {r}22; {op}c.{ty} {r}31, {r}21, {r}23; {last}")
        case(f"{op}.cc.{ty}, {op}c.cc.{ty}, {op}c of zero", f"{load} {near} {op}.cc.{ty} {r}30, {r}20, {r}22; {op}c.cc.{ty} {r}31, {r}21, {r}22; {op}c.{ty} {r}32, 0, 0; st.global.b{ty[1:]} [%q3], {r}31; st.global.b{ty[1:]} [%q3+8], {r}32;")
    for half in ("lo", "hi"):
        case(f"mad.{half}.cc.{ty} and its carry", f"{load} {near} mad.{half}.cc.{ty} {r}30, {r}20, {r}21, {r}22; addc.{ty} {r}31, 0, 0; st.global.b{ty[1:]} [%q3], {r}30; st.global.b{ty[1:]} [%q3+8], {r}31;")
        case(f"madc.{half}.{ty}", f"{load} {near} add.cc.{ty} {r}29, {r}20, {r}22; madc.{half}.{ty} {r}30, {r}20, {r}21, {r}23; st.global.b{ty[1:]} [%q3], {r}30;")
        case(f"madc.{half}.cc.{ty} and its carry", f"{load} {near} add.cc.{ty} {r}29, {r}20, {r}22; madc.{half}.cc.{ty} {r}30, {r}20, {r}21, {r}22; addc.{ty} {r}31, 0, 0; st.global.b{ty[1:]} [%q3], {r}30; st.global.b{ty[1:]} [%q3+8], {r}31;")

# ---- video ----
PARTS = ("", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1")
for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
    for k, (d, a, b) in enumerate((d, a, b) for d in "us" for a in "us" for b in "us"):
        types = f"{d}32.{a}32.{b}32"
        for sat in ("", ".sat"):
            # Every part of either source is met with every choice of signs somewhere.
            pa, pb = PARTS[(k + len(sat)) % 7], PARTS[(3 * k + 1 + len(op)) % 7]
            case(f"{op}.{types}{sat} of {pa or 'all'} and {pb or 'all'}", f"{LOADR} {op}.{types}{sat} %r30, %r20{pa}, %r21{pb}; {op}.{types}{sat} %r31, %r22, %r21; {op}.{types}{sat} %r32, %r21{pb}, %r23{pa}; st.global.v2.u32 [%q3], {{%r30, %r31}}; st.global.u32 [%q3+8], %r32;")
            second = ("add", "min", "max")[(k + len(op)) % 3]
            case(f"{op}.{types}{sat}.{second}", f"{LOADR} {op}.{types}{sat}.{second} %r30, %r20{pa}, %r21{pb}, %r22; {op}.{types}{sat}.{second} %r31, %r22, %r21, %r20; st.global.v2.u32 [%q3], {{%r30, %r31}};")
            merge = PARTS[1 + (k + 2 * len(op)) % 6]
            case(f"{op}.{types}{sat} into {merge}", f"{LOADR} {op}.{types}{sat} %r30{merge}, %r20{pa}, %r21{pb}, %r22; {op}.{types}{sat} %r31{merge}, %r22, %r21, %r20; st.global.v2.u32 [%q3], {{%r30, %r31}};")
for op in ("add", "min", "max"):
    for d in "us":
        case(f"vadd.{d}32.u32.s32.{op} of each part", f"{LOADR} mov.u32 %r31, 0; " + " ".join(f"vadd.{d}32.u32.s32.{op} %r{40 + k}, %r20{p}, %r21{q}, %r22; xor.b32 %r31, %r31, %r{40 + k};" for k, (p, q) in enumerate(zip(PARTS, PARTS[3:] + PARTS[:3]))) + " st.global.v2.u32 [%q3], {%r31, %r46};")

# ---- registers of 128 bits ----
WIDE = ".reg .b128 %w<4>;"
case("mov.b128 of halves", f"{WIDE} {LOAD64} mov.b128 %w1, {{%q20, %q21}}; mov.b128 %w2, %w1; mov.b128 {{%q31, %q30}}, %w2; st.global.v2.b64 [%q3], {{%q30, %q31}};")
for space, fill_, place, top in (("global", IN, "%q4", ""), ("shared", fill_shared(), "%r9", TOPS["shared"])):
    case(f"ld.{space}.b128", f"{WIDE} {fill_} {OUT} ld.{space}.b128 %w1, [{place}]; mov.b128 {{%q30, %q31}}, %w1; st.global.v2.b64 [%q3], {{%q31, %q30}};", top=top)
case("st.global.b128", f"{WIDE} {LOAD64} mov.b128 %w1, {{%q22, %q20}}; st.global.b128 [%q3], %w1;")
case("st.shared.b128", f"{WIDE} {fill_shared()} {LOAD64} mov.b128 %w1, {{%q23, %q20}}; st.shared.b128 [%r9], %w1; bar.sync 0; xor.b32 %r9, %r9, 16; ld.shared.v4.b32 {{%r40, %r41, %r42, %r43}}, [%r9]; st.global.v4.b32 [%q3], {{%r40, %r41, %r42, %r43}};", top=TOPS["shared"])
case("ld.relaxed.b128 and st.release.b128", f"{WIDE} {IN} {OUT} ld.relaxed.gpu.global.b128 %w1, [%q4]; st.release.gpu.global.b128 [%q3], %w1;")

# ---- vectors of atomics ----
for ty, elements, kind in [(t, n, t + "i") for t in ("f16", "bf16") for n in (2, 4, 8)] + [(t + "x2", n, t + "i") for t in ("f16", "bf16") for n in (2, 4)]:
    r, raw, size = ("%r", "b32", 4) if ty.endswith("x2") else ("%h", "b16", 2)
    new = [f"{r}{20 + k}" for k in range(elements)]
    old = [f"{r}{30 + k}" for k in range(elements)]
    load = " ".join(f"ld.global.{raw} {reg}, [%q4+{size * k}];" for k, reg in enumerate(new))
    first = f"{IN} {OUT} ld.global.v4.b32 {{%r50, %r51, %r52, %r53}}, [%q4+2048]; st.global.v4.b32 [%q3], {{%r50, %r51, %r52, %r53}};"
    for op in ("add", "min", "max"):
        # The old values, in words of their own behind the new ones.
        keep = " ".join(f"st.global.{raw} [%q5+{size * k}], {reg};" for k, reg in enumerate(old))
        case(f"atom.global.v{elements}.{ty}.{op}.noftz", f"{first} {load} {at('%q5', '%q2', '%r2', 16, 1024)} atom.global.v{elements}.{ty}.{op}.noftz {vec(old)}, [%q3], {vec(new)}; {keep}", inputs=kind, out=2048)
        case(f"red.global.v{elements}.{ty}.{op}.noftz", f"{first} {load} red.global.v{elements}.{ty}.{op}.noftz [%q3], {vec(new)};", inputs=kind)
        case(f"red.relaxed.gpu.global.v{elements}.{ty}.{op}.noftz contended", f"{IN} {load} and.b32 %r12, %r1, 3; {at('%q3', '%q2', '%r12', 16)} red.relaxed.gpu.global.v{elements}.{ty}.{op}.noftz [%q3], {vec(new)};", inputs=kind, blocks=2, out=64)
for scope in ("cta", "cluster", "gpu", "sys"):
    case(f"atom.relaxed.{scope}.shared::cta.add.u32", f"{IN} ld.global.u32 %r31, [%q4]; and.b32 %r12, %r1, 3; mov.u32 %r8, sh; mad.lo.u32 %r9, %r12, 4, %r8; setp.lt.u32 %p1, %r1, 4; mov.u32 %r30, 0; @%p1 st.shared.u32 [%r9], %r30; bar.sync 0; atom.relaxed.{scope}.shared::cta.add.u32 %r32, [%r9], %r31; bar.sync 0; {OUT} ld.shared.u32 %r33, [%r9]; st.global.u32 [%q3], %r33;", top=TOPS["shared"])
    case(f"red.release.{scope}.global.max.u32", f"{IN} ld.global.u32 %r31, [%q4]; and.b32 %r12, %r1, 3; {at('%q3', '%q2', '%r12', 16)} red.release.{scope}.global.max.u32 [%q3], %r31;", blocks=2, out=64)
case("atom.shared::cluster.add.u32 in a cluster of one", f"{IN} ld.global.u32 %r31, [%q4]; mov.u32 %r8, sh; mad.lo.u32 %r9, %r1, 4, %r8; st.shared.u32 [%r9], %r31; mapa.shared::cluster.u32 %r10, %r9, 0; atom.shared::cluster.add.u32 %r32, [%r10], 5; {OUT} ld.shared.u32 %r33, [%r9]; st.global.v2.u32 [%q3], {{%r32, %r33}};", top=TOPS["shared"])

# ---- a cluster of one block ----
case("barrier.cluster and mapa", f"{fill_shared()} barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; barrier.cluster.arrive.relaxed; barrier.cluster.wait; mov.u32 %r10, %cluster_ctarank; xor.b32 %r9, %r9, 16; mapa.shared::cluster.u32 %r11, %r9, %r10; ld.shared::cluster.u32 %r30, [%r11]; cvt.u64.u32 %q9, %r9; cvta.shared.u64 %q9, %q9; mapa.u64 %q10, %q9, 0; ld.u32 %r31, [%q10+4]; getctarank.shared::cluster.u32 %r32, %r11; getctarank.u64 %r33, %q10; {OUT} st.global.v4.u32 [%q3], {{%r30, %r31, %r32, %r33}};", top=TOPS["shared"])
case("registers of a cluster", f"{OUT} mov.u32 %r30, %cluster_nctarank; mov.u32 %r31, %cluster_nctaid.x; mov.u32 %r32, %cluster_ctaid.x; mov.u32 %r33, %nclusterid.x; mov.u32 %r34, %clusterid.x; mad.lo.u32 %r33, %r33, 1000, %r34; mov.u32 %r34, %cluster_nctaid.y; mad.lo.u32 %r31, %r31, 1000, %r34; mov.u32 %r34, %cluster_ctaid.z; add.u32 %r32, %r32, %r34; st.global.v4.u32 [%q3], {{%r30, %r31, %r32, %r33}};", blocks=3)
case("st.shared::cluster", f"{fill_shared()} {OUT} xor.b32 %r9, %r9, 32; mapa.shared::cluster.u32 %r11, %r9, 0; st.shared::cluster.u32 [%r11], %r1; barrier.cluster.arrive; barrier.cluster.wait; xor.b32 %r9, %r9, 32; ld.shared.v4.b32 {{%r40, %r41, %r42, %r43}}, [%r9]; st.global.v4.b32 [%q3], {{%r40, %r41, %r42, %r43}};", top=TOPS["shared"])

# ---- mbarriers, copies and what they take ----
MB = ".shared .align 8 .b64 mb;"
ONE = f"{OUT} setp.eq.u32 %p1, %r1, 0; @!%p1 bra E;"
case("mbarrier.inval", f"{ONE} mbarrier.init.shared::cta.b64 [mb], 3; mbarrier.arrive.shared::cta.b64 %q10, [mb]; mbarrier.pending_count.b64 %r30, %q10; mbarrier.inval.shared::cta.b64 [mb]; mbarrier.init.shared.b64 [mb], 7; mbarrier.arrive.shared.b64 %q10, [mb]; mbarrier.pending_count.b64 %r31, %q10; st.global.v2.u32 [%q3], {{%r30, %r31}}; E:", top=MB)
case("mbarrier.arrive.noComplete", f"{ONE} mbarrier.init.shared.b64 [mb], 9; mbarrier.arrive.noComplete.shared.b64 %q10, [mb], 3; mbarrier.pending_count.b64 %r30, %q10; mbarrier.arrive_drop.noComplete.shared.b64 %q10, [mb], 2; mbarrier.pending_count.b64 %r31, %q10; mbarrier.arrive.shared.b64 %q10, [mb], 4; mbarrier.test_wait.shared.b64 %p2, [mb], %q10; selp.u32 %r32, 1, 0, %p2; mbarrier.arrive.shared.b64 %q10, [mb]; mbarrier.pending_count.b64 %r33, %q10; st.global.v4.u32 [%q3], {{%r30, %r31, %r32, %r33}}; E:", top=MB)
case("mbarrier.test_wait with a state", f"{ONE} mbarrier.init.shared.b64 [mb], 2; mbarrier.arrive.shared.b64 %q10, [mb]; mbarrier.test_wait.shared.b64 %p2, [mb], %q10; selp.u32 %r30, 1, 0, %p2; mbarrier.arrive.shared.b64 %q11, [mb]; mbarrier.test_wait.acquire.cta.shared::cta.b64 %p2, [mb], %q10; selp.u32 %r31, 1, 0, %p2; mbarrier.arrive.shared.b64 %q12, [mb]; mbarrier.test_wait.shared.b64 %p2, [mb], %q12; selp.u32 %r32, 1, 0, %p2; mbarrier.test_wait.shared.b64 %p2, [mb], %q11; selp.u32 %r33, 1, 0, %p2; st.global.v4.u32 [%q3], {{%r30, %r31, %r32, %r33}}; E:", top=MB)
case("mbarrier by a generic address", f"{ONE} mov.u64 %q9, mb; cvta.shared.u64 %q9, %q9; mbarrier.init.b64 [%q9], 2; mbarrier.arrive.b64 %q10, [%q9]; mbarrier.arrive.b64 _, [%q9]; mbarrier.try_wait.b64 %p2, [%q9], %q10, 100; selp.u32 %r30, 1, 0, %p2; mbarrier.test_wait.parity.b64 %p2, [%q9], 0; selp.u32 %r31, 1, 0, %p2; st.global.v2.u32 [%q3], {{%r30, %r31}}; E:", top=MB)
for op in ("arrive", "arrive_drop"):
    case(f"mbarrier.{op}.expect_tx and complete_tx", f"{ONE} mbarrier.init.shared.b64 [mb], 2; mbarrier.{op}.expect_tx.release.cta.shared::cta.b64 %q10, [mb], 96; mbarrier.arrive.shared.b64 _, [mb]; mbarrier.test_wait.shared.b64 %p2, [mb], %q10; selp.u32 %r30, 1, 0, %p2; mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [mb], 64; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [mb], 16; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [mb], 32; mbarrier.test_wait.shared.b64 %p2, [mb], %q10; selp.u32 %r31, 1, 0, %p2; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [mb], 16; mbarrier.test_wait.shared.b64 %p2, [mb], %q10; selp.u32 %r32, 1, 0, %p2; mbarrier.arrive.shared.b64 %q11, [mb]; mbarrier.test_wait.shared.b64 %p2, [mb], %q11; selp.u32 %r33, 1, 0, %p2; st.global.v4.u32 [%q3], {{%r30, %r31, %r32, %r33}}; E:", top=MB)
case("cp.async.mbarrier.arrive that counts", f"""{IN} mov.u32 %r8, sh; mad.lo.u32 %r9, %r1, 16, %r8; setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [mb], 64; bar.sync 0;
cp.async.cg.shared.global [%r9], [%q4], 16; cp.async.mbarrier.arrive.shared.b64 [mb]; mbarrier.arrive.shared.b64 _, [mb]; W: mbarrier.try_wait.parity.shared.b64 %p2, [mb], 0; @!%p2 bra W; xor.b32 %r9, %r9, 16; {OUT} ld.shared.v4.b32 {{%r40, %r41, %r42, %r43}}, [%r9]; st.global.v4.b32 [%q3], {{%r40, %r41, %r42, %r43}};""", top=TOPS["shared"] + "\n" + MB)
POLICIES = ("createpolicy.fractional.L2::evict_last.b64 %q20, 1.0;", "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %q20, 0.5;", "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %q20, [%q1], 4096, 8192;")
for k, policy in enumerate(POLICIES):
    case(f"{policy.split(' ')[0]} and L2::cache_hint", f"{policy} {IN} {OUT} ld.global.L2::cache_hint.v2.u32 {{%r30, %r31}}, [%q4], %q20; st.global.L2::cache_hint.v2.u32 [%q3], {{%r30, %r31}}, %q20; atom.global.add.L2::cache_hint.u32 %r32, [%q3], 3, %q20; red.global.add.L2::cache_hint.u32 [%q3+4], %r32, %q20;")
case("cp.async with a policy", f"{POLICIES[0]} {fill_shared()} add.u64 %q4, %q4, 1024; cp.async.ca.shared.global.L2::cache_hint.L2::128B [%r9], [%q4], 8, %q20; cp.async.wait_all; bar.sync 0; xor.b32 %r9, %r9, 16; {OUT} ld.shared.v4.b32 {{%r40, %r41, %r42, %r43}}, [%r9]; st.global.v4.b32 [%q3], {{%r40, %r41, %r42, %r43}};", top=TOPS["shared"])
for size in ("64B", "128B", "256B"):
    case(f"cp.async with L2::{size}", f"{fill_shared()} add.u64 %q4, %q4, 1024; cp.async.cg.shared::cta.global.L2::{size} [%r9], [%q4], 16; cp.async.wait_all; bar.sync 0; xor.b32 %r9, %r9, 16; {OUT} ld.shared.v4.b32 {{%r40, %r41, %r42, %r43}}, [%r9]; st.global.v4.b32 [%q3], {{%r40, %r41, %r42, %r43}};", top=TOPS["shared"])
case("cp.async.bulk with a policy, and prefetched", f"""{POLICIES[0]} mov.u32 %r8, sh; mad.lo.u32 %r9, %r1, 16, %r8; setp.eq.u32 %p1, %r1, 0; @!%p1 bra S; cp.async.bulk.prefetch.L2.global [%q1], 1024; mbarrier.init.shared.b64 [mb], 1; fence.mbarrier_init.release.cluster; fence.proxy.async; mbarrier.arrive.expect_tx.shared.b64 %q10, [mb], 1024; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [sh], [%q1], 1024, [mb], %q20; S: bar.sync 0; W: mbarrier.try_wait.parity.shared.b64 %p2, [mb], 0; @!%p2 bra W; xor.b32 %r9, %r9, 16; {OUT} ld.shared.v4.b32 {{%r40, %r41, %r42, %r43}}, [%r9]; st.global.v4.b32 [%q3], {{%r40, %r41, %r42, %r43}};""", top=".shared .align 128 .b8 sh[4096];\n" + MB)
case("cp.async.bulk to global with a policy and a wait for reads", f"{POLICIES[0]} {fill_shared()} fence.proxy.async; bar.sync 0; setp.eq.u32 %p1, %r1, 0; @!%p1 bra E; cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%q2], [sh], 512, %q20; cp.async.bulk.commit_group; cp.async.bulk.global.shared::cta.bulk_group [%q2+512], [sh+512], 512; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 1; cp.async.bulk.wait_group 0; E:", top=".shared .align 128 .b8 sh[4096];")
case("prefetchu, applypriority, pmevent", f"{IN} {OUT} ld.global.u32 %r30, [%q4]; prefetchu.L1 [%q4]; applypriority.global.L2::evict_normal [%q1], 128; prefetch.global.L2::evict_last [%q4]; prefetch.global.L2::evict_normal [%q4]; pmevent 3; st.global.u32 [%q3], %r30;")

# ---- loads, stores and addresses of less usual kinds ----
for ty in ("u32", "f32", "b64"):
    for n in (1, 2):
        v = "" if n == 1 else ".v2"
        regs = [f"{REG[ty]}{30 + k}" for k in range(n)]
        case(f"ldu.global{v}.{ty}", f"{OUT} ldu.global{v}.{ty} {vec(regs)}, [%q1+16]; {put(regs)}")
for hint in ("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last.L2::64B", "L2::256B", "relaxed.gpu", "nc.L1::no_allocate.L2::256B", "nc.L2::128B", "relaxed.gpu.L1::no_allocate"):
    # Strong accesses name their order before the space.
    strong, _, rest = hint.partition(".L1")
    ops = f"{strong}.global{'.L1' + rest if rest else ''}" if strong.startswith("relaxed") else f"global.{hint}"
    case(f"ld.{ops}.v4.u32", f"{IN} {OUT} ld.{ops}.v4.u32 {{%r30, %r31, %r32, %r33}}, [%q4]; st.global.v4.u32 [%q3], {{%r30, %r31, %r32, %r33}};")
for hint in ("L1::evict_normal", "L1::evict_unchanged", "L1::evict_last", "L1::no_allocate"):
    case(f"st.global.{hint}.v4.u32", f"{LOADR} st.global.{hint}.v4.u32 [%q3], {{%r20, %r21, %r22, %r23}};")
for space, place, fill_, top in (("global", "%q4", IN, ""), ("shared", "%r9", fill_shared(), TOPS["shared"])):
    case(f"ld.volatile.{space}.v2.u32 and its store", f"{fill_} {OUT} ld.volatile.{space}.v2.u32 {{%r30, %r31}}, [{place}]; " + (f"st.volatile.shared.v2.u32 [%r9+8], {{%r30, %r31}}; ld.volatile.shared.v4.u32 {{%r30, %r31, %r32, %r33}}, [%r9]; st.global.v4.u32 [%q3], {{%r30, %r31, %r32, %r33}};" if space == "shared" else "st.volatile.global.v2.u32 [%q3], {%r30, %r31};"), top=top)
case("ld.volatile of a generic address", f"{IN} {OUT} cvta.global.u64 %q5, %q4; ld.volatile.u32 %r30, [%q5]; cvta.global.u64 %q5, %q3; st.volatile.u32 [%q5], %r30; cvta.to.global.u64 %q6, %q5; st.global.u32 [%q6+4], %r30;")
case("cvta.to and back", f"{fill_shared()} {OUT} .local .align 16 .b8 lo[16]; mov.u64 %q9, sh; cvta.shared.u64 %q10, %q9; cvta.to.shared.u64 %q11, %q10; sub.u64 %q11, %q11, %q9; cvt.u32.u64 %r30, %q11; mov.u64 %q9, lo; st.local.u32 [%q9], %r1; cvta.local.u64 %q10, %q9; cvta.to.local.u64 %q11, %q10; ld.local.u32 %r31, [%q11]; mov.u64 %q9, co; cvta.const.u64 %q10, %q9; ld.u32 %r32, [%q10+8]; cvta.to.const.u64 %q11, %q10; ld.const.u32 %r33, [%q11+12]; st.global.v4.u32 [%q3], {{%r30, %r31, %r32, %r33}};", top=TOPS["shared"] + "\n" + TOPS["const"])
case("isspacep of shared::cta and shared::cluster", f"{fill_shared()} {OUT} mov.u64 %q9, sh; cvta.shared.u64 %q10, %q9; isspacep.shared::cta %p1, %q10; selp.u32 %r30, 1, 0, %p1; isspacep.shared::cluster %p1, %q10; selp.u32 %r31, 1, 0, %p1; isspacep.shared::cta %p1, %q1; selp.u32 %r32, 1, 0, %p1; isspacep.shared::cluster %p1, %q1; selp.u32 %r33, 1, 0, %p1; st.global.v4.u32 [%q3], {{%r30, %r31, %r32, %r33}};", top=TOPS["shared"])
FENCES = ["membar.cta", "membar.gl", "membar.sys", "fence.acq_rel.cta", "fence.acq_rel.gpu", "fence.sc.sys", "fence.proxy.alias", "fence.proxy.async", "fence.proxy.async.global", "fence.proxy.async.shared::cta", "fence.proxy.async.shared::cluster"]
for fence in FENCES:
    case(fence, f"{fill_shared()} {OUT} {fence}; xor.b32 %r9, %r9, 16; ld.shared.u32 %r30, [%r9]; st.global.u32 [%q3], %r30;", top=TOPS["shared"])

# ---- wmma: stores to shared memory, saturation, no stride ----
def wmma_place(name, d, n, space, stride, kind, sat=""):
    body = "add.u64 %q11, %q1, 2048; add.u64 %q12, %q1, 4096; "
    out = {"f16": 512, "f32": 1024, "s32": 1024}[d]
    r = "%f" if d == "f32" else "%r"
    frag = lambda reg, s, cnt: "{" + ", ".join(f"{reg}{s + i}" for i in range(cnt)) + "}"
    ab = "s8" if d == "s32" else "f16"
    na = 2 if ab == "s8" else 8
    s = ", 16" if stride else ""
    body += f"wmma.load.a.sync.aligned.row.m16n16k16.global.{ab} {frag('%r', 10, na)}, [%q1]{s}; wmma.load.b.sync.aligned.col.m16n16k16.global.{ab} {frag('%r', 20, na)}, [%q11]{s}; wmma.load.c.sync.aligned.row.m16n16k16.global.{d} {frag(r, 30, n)}, [%q12]{s}; "
    types = ".s8.s8" if ab == "s8" else ""
    body += f"wmma.mma.sync.aligned.row.col.m16n16k16.{d}{types}.{d}{sat} {frag(r, 40, n)}, {frag('%r', 10, na)}, {frag('%r', 20, na)}, {frag(r, 30, n)}; "
    if space == "shared":
        body += f"wmma.store.d.sync.aligned.row.m16n16k16.shared.{d} [sh], {frag(r, 40, n)}{s}; bar.sync 0; mov.u32 %r8, sh; mov.u32 %r9, %r1; L: mad.lo.u32 %r50, %r9, 4, %r8; ld.shared.b32 %r51, [%r50]; mul.wide.u32 %q9, %r9, 4; add.u64 %q9, %q9, %q2; st.global.b32 [%q9], %r51; add.u32 %r9, %r9, 32; setp.lt.u32 %p1, %r9, {out // 4}; @%p1 bra L;"
    else:
        body += f"wmma.store.d.sync.aligned.row.m16n16k16.global.{d} [%q2], {frag(r, 40, n)}{s};"
    case(name, body, inputs=kind, threads=32, out=out, top=TOPS["shared"])


for d, n, kind in (("f16", 4, "f16i"), ("f32", 8, "f16i,f32i"), ("s32", 8, "bits")):
    wmma_place(f"wmma.store.d of {d} to shared memory", d, n, "shared", True, kind)
    wmma_place(f"wmma of {d} without strides", d, n, "global", False, kind)
wmma_place("wmma.mma of s8 with .satfinite", "s32", 8, "global", True, "bits", ".satfinite")

# ---- control with .uni, and calls that return nothing ----
case("bra.uni, ret.uni, call.uni", f"""{LOADR} bra.uni M; mov.u32 %r20, 0; M: {{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r20; call.uni (r), odd, (a); ld.param.b32 %r30, [r]; }} call.uni none; st.global.u32 [%q3], %r30;""",
     top=""".func (.param .b32 r) odd(.param .b32 a) { .reg .b32 %r<3>; .reg .pred %p1; ld.param.b32 %r1, [a]; setp.lt.s32 %p1, %r1, 0; @%p1 bra N; or.b32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; N: xor.b32 %r2, %r1, 255; st.param.b32 [r], %r2; ret.uni; }
.func none() { ret.uni; }""")
case("brx.idx.uni", f"{LOADR} mov.u32 %r21, %ctaid.x; T: .branchtargets A, B; brx.idx.uni %r21, T; A: mov.u32 %r30, 11; bra E; B: mov.u32 %r30, 22; E: st.global.u32 [%q3], %r30;", blocks=2)
case("a vector of eight in shared memory by parts", f"{fill_shared()} {OUT} xor.b32 %r9, %r9, 16; ld.shared.v2.u64 {{%q30, %q31}}, [%r9]; st.global.v2.u64 [%q3], {{%q31, %q30}};", top=TOPS["shared"])

if __name__ == "__main__":
    here = pathlib.Path(__file__).resolve().parent
    (here / "wide.txt").write_text("\n".join(cases) + "\n")
    print(len(cases), "cases")
