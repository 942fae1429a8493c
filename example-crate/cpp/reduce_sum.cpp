// Launches reduce_sum from C++ through the CUDA driver interface, without CUDA's headers or libraries.
//
// Owns the few declarations of that interface that a launch needs; the driver is looked up at run time, as it is
// installed on the machines that have one. Allocates nothing and waits for nothing.

#include <cstdint>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace {

using CUresult = int;
using CUdeviceptr = unsigned long long;
using MemsetD32Async = CUresult (*)(CUdeviceptr, unsigned, std::size_t, void*);
using LaunchKernel = CUresult (*)(
    void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
    unsigned block_z, unsigned shared_bytes, void* stream, void** parameters, void** extra);

constexpr CUresult not_initialized = 3;

void* symbol(const char* name)
{
#ifdef _WIN32
    static const HMODULE driver = LoadLibraryA("nvcuda.dll");
    return driver ? reinterpret_cast<void*>(GetProcAddress(driver, name)) : nullptr;
#else
    static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    return driver ? dlsym(driver, name) : nullptr;
#endif
}

}  // namespace

// Enqueues sum = 0, then sum += the n elements of input. Returns the driver's CUresult, 0 for success.
extern "C" int example_crate_reduce_sum(
    void* stream, void* function, CUdeviceptr input, std::uint64_t n, CUdeviceptr sum, unsigned blocks, unsigned block)
{
    static const auto memset = reinterpret_cast<MemsetD32Async>(symbol("cuMemsetD32Async"));
    static const auto launch = reinterpret_cast<LaunchKernel>(symbol("cuLaunchKernel"));
    if (!memset || !launch) {
        return not_initialized;
    }
    if (const CUresult result = memset(sum, 0, 1, stream)) {
        return result;
    }
    void* parameters[] = {&input, &n, &sum};
    return launch(function, blocks, 1, 1, block, 1, 1, 0, stream, parameters, nullptr);
}
