#pragma once
// Threads that nobody joins: what they work for may hang in the kernel (a read of sysfs behind a lock of a driver
// that waits for firmware), and the process leaves all the same. Whatever such a thread uses it owns, or shares.
#include <cstddef>
#include <memory>
#include <utility>

namespace sliced {

/// run(argument) on a new thread that nobody joins, with all signals blocked: those are the loop's. False
/// when the system has no thread to give: run is not called then, and argument stays the caller's.
bool start_detached_thread(size_t stack_bytes, void* (*run)(void*), void* argument);

/// run(*shared) likewise; the thread holds `shared` until it ends. run throws nothing.
template <auto run, class T>
bool start_detached_thread(size_t stack_bytes, std::shared_ptr<T> shared) {
  auto reference = std::make_unique<std::shared_ptr<T>>(std::move(shared));
  const auto begin = [](void* given) noexcept -> void* {
    const std::unique_ptr<std::shared_ptr<T>> owned(static_cast<std::shared_ptr<T>*>(given));
    run(**owned);
    return nullptr;
  };
  if (!start_detached_thread(stack_bytes, begin, reference.get())) return false;
  (void)reference.release();
  return true;
}

}  // namespace sliced
