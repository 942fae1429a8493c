//! PTX of `scale(x, y, z, a, n)`, right and wrong in one way each.

/// The kernel with other instructions in place of the one store to `y`, and declarations before it.
fn scale(declarations: &str, store: &str) -> String {
    format!(
        ".version 8.0
.target sm_80
.address_size 64
{declarations}
.visible .entry scale(.param .u64 x, .param .u64 y, .param .u64 z, .param .f32 a, .param .u32 n)
{{
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<12>;
    .reg .f32 %f<8>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u64 %rd3, [z];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra done;
    mul.wide.u32 %rd4, %r5, 4;
    add.s64 %rd5, %rd1, %rd4;
    add.s64 %rd6, %rd2, %rd4;
    add.s64 %rd7, %rd3, %rd4;
    ld.global.f32 %f2, [%rd5];
    mul.f32 %f3, %f1, %f2;
    ld.global.f32 %f4, [%rd7];
    mul.f32 %f5, %f1, %f4;
    st.global.f32 [%rd7], %f5;
    {store}
done:
    ret;
}}
"
    )
}

const RIGHT: &str = "st.global.f32 [%rd6], %f3;";

/// A kernel by what is wrong with it.
pub fn by_name(name: &str) -> String {
    match name {
        "right" => scale("", RIGHT),
        "lazy" => scale("", ""),
        "one behind" => scale("", &format!("{RIGHT}\n st.global.f32 [%rd6+4], %f3;")),
        "one before" => {
            scale("", &format!("{RIGHT}\n setp.eq.u32 %p2, %r5, 0;\n @%p2 st.global.f32 [%rd2-4], %f3;"))
        }
        "far away" => scale("", "mov.u64 %rd8, 64;\n st.global.f32 [%rd8], %f3;"),
        "changes its input" => scale("", &format!("{RIGHT}\n st.global.f32 [%rd5], %f3;")),
        "leaves out the tail" => scale(
            "",
            "and.b32 %r6, %r1, 4294967040;\n setp.lt.u32 %p2, %r5, %r6;\n @%p2 st.global.f32 [%rd6], %f3;",
        ),
        "counts" => {
            let count = "mov.u64 %rd8, launches;\n atom.global.add.u32 %r6, [%rd8], 1;";
            scale(".visible .global .align 4 .u32 launches;", &format!("{RIGHT}\n {count}"))
        }
        "no PTX" => ".version 8.0\n.target sm_80\nthis is no PTX".to_owned(),
        _ => panic!("no kernel is named {name}"),
    }
}
