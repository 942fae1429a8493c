//! Embeds the tuned kernels; with the feature `cpp-host`, compiles the C++ launch of `reduce_sum` too.

fn main() {
    fsr_build::embed();
    #[cfg(feature = "cpp-host")]
    {
        println!("cargo::rerun-if-changed=cpp/reduce_sum.cpp");
        cc::Build::new().cpp(true).std("c++17").file("cpp/reduce_sum.cpp").compile("reduce_sum_host");
    }
}
