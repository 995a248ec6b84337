#pragma once
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace sliced {

/// A member of a class that calls back. Ends the process if the object is destroyed by one of its own
/// callbacks, because the caller would continue in freed memory. For an object whose last reference may be
/// released by its own callback, use reactor::Scheduler::destroy_later() instead.
class CallbackGuard {
 public:
  /// owner: name of the class for the message, a literal.
  explicit CallbackGuard(const char* owner) : owner_(owner) {}
  CallbackGuard(const CallbackGuard&) = delete;
  CallbackGuard& operator=(const CallbackGuard&) = delete;
  ~CallbackGuard() {
    if (running_ == 0) return;
    std::fprintf(stderr, "destroyed by its own callback: %s\n", owner_);
    std::abort();
  }

  /// Calls back.
  template <class Callback, class... Arguments>
  void run(const Callback& callback, Arguments&&... arguments) {
    const Call running(*this);
    callback(std::forward<Arguments>(arguments)...);
  }

  /// Exists while a callback is on the stack. Calls may nest.
  class [[nodiscard]] Call {
   public:
    explicit Call(CallbackGuard& guard) : guard_(guard) { ++guard_.running_; }
    ~Call() { --guard_.running_; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    CallbackGuard& guard_;
  };

 private:
  const char* const owner_;
  int running_ = 0;
};

}  // namespace sliced
