#pragma once
// Threads that are never joined: their work may hang in the kernel (a read of sysfs behind a lock of a driver
// that waits for firmware), and the process must exit all the same. Such a thread owns or shares everything
// that it uses.
#include <cstddef>
#include <memory>
#include <utility>

namespace sliced {

/// Runs run(argument) on a new detached thread with all signals blocked, because the loop handles signals.
/// Returns false if the system has no thread; then run is not called and the caller keeps `argument`.
bool start_detached_thread(size_t stack_bytes, void* (*run)(void*), void* argument);

/// The same with run(*shared); the thread holds `shared` until it ends. run must not throw.
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
