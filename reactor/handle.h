#pragma once
// Ownership of libuv handles. This header does not include uv.h; an owner defines its constructors and
// destructor in a .cpp that does.
#include <memory>
#include <utility>

#include "reactor/base/result.h"

struct uv_handle_s;

namespace sliced::reactor {

/// The only caller of uv_close. free_memory runs in a later turn.
void close_handle(uv_handle_s* handle, void (*free_memory)(uv_handle_s*));
/// Returns a UV_E* code as an Error: ENOENT, EACCES, ETIMEDOUT and others have their own Errc. The text is
/// the library's; callers add the step (Error::in).
Error uv_error(int code);

/// Owns a handle that may outlive it: the handle is a separate heap block that only the close callback frees.
/// Destroying the owner stops callbacks immediately. H is one of uv_timer_s, uv_poll_s, ...
template <class H>
class Handle {
 public:
  Handle() = default;
  /// init(H*) returns 0 or UV_E*; after an error libuv must not hold the pointer.
  template <class Init>
  static Result<Handle> open(Init init) {
    auto raw = std::make_unique<H>();
    if (const int code = init(raw.get()); code != 0) return uv_error(code);
    return Handle(raw.release());
  }
  /// Takes ownership of an initialized handle.
  explicit Handle(H* raw) : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  /// Swaps both; the former handle is closed when `other` is destroyed.
  Handle& operator=(Handle&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Handle() {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): an incomplete type has no size
    static_assert(sizeof(H) > 0, "the owner's destructor belongs in a .cpp that includes <uv.h>");
    if (raw_ == nullptr) return;
    close_handle(reinterpret_cast<uv_handle_s*>(raw_),
                 [](uv_handle_s* closed) noexcept { delete reinterpret_cast<H*>(closed); });
  }
  /// Returns the handle without releasing it; nullptr if empty.
  H* get() const { return raw_; }
  H* operator->() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }
  /// Passes ownership to the caller, who must call close_handle().
  H* release() { return std::exchange(raw_, nullptr); }

 private:
  H* raw_ = nullptr;
};

}  // namespace sliced::reactor
