#pragma once
// Threads with a given stack size and without signals. A thread whose work may hang in the kernel (a read of
// sysfs behind a lock of a driver that waits for firmware) is detached: it owns or shares everything that it
// uses, and the process can exit while it runs.
#include <pthread.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace sliced {

/// Owns a running thread. The destructor detaches it.
class Thread {
 public:
  /// Runs run(argument) on a new thread with all signals blocked, because the loop handles signals. Returns
  /// nullopt if the system has no thread; then run is not called and the caller keeps `argument`.
  static std::optional<Thread> start(size_t stack_bytes, void* (*run)(void*), void* argument);

  /// The same with run(*shared); the thread holds `shared` until it ends. run must not throw.
  template <auto run, class T>
  static std::optional<Thread> start(size_t stack_bytes, std::shared_ptr<T> shared) {
    auto reference = std::make_unique<std::shared_ptr<T>>(std::move(shared));
    const auto begin = [](void* given) noexcept -> void* {
      const std::unique_ptr<std::shared_ptr<T>> owned(static_cast<std::shared_ptr<T>*>(given));
      run(**owned);
      return nullptr;
    };
    auto started = start(stack_bytes, begin, reference.get());
    if (started) (void)reference.release();
    return started;
  }

  Thread(Thread&& other) noexcept : id_(std::exchange(other.id_, std::nullopt)) {}
  Thread& operator=(Thread&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Thread();

  /// Waits until the thread has ended, with the destructors of its thread-local values.
  void join();
  bool has_id(pthread_t id) const { return id_ && pthread_equal(*id_, id) != 0; }

 private:
  explicit Thread(pthread_t id) : id_(id) {}
  std::optional<pthread_t> id_;  // nullopt: joined or moved from
};

}  // namespace sliced
