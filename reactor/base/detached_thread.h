#pragma once
#include <cstddef>

namespace sliced {

/// run(argument) on a new thread that nobody joins, with all signals blocked: those are the loop's. False
/// when the system has no thread to give: run is not called then, and argument stays the caller's.
bool start_detached_thread(size_t stack_bytes, void* (*run)(void*), void* argument);

}  // namespace sliced
