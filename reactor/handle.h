#pragma once
// Ownership of libuv handles. This header knows no uv.h, so that headers of owners stay free of it; an owner
// defines its constructors and destructor in a .cpp that includes <uv.h>.
#include <memory>
#include <utility>

#include "reactor/base/result.h"

struct uv_handle_s;

namespace sliced::reactor {

/// The one caller of uv_close. free_memory runs on a later turn.
void close_handle(uv_handle_s* handle, void (*free_memory)(uv_handle_s*));
/// A UV_E* code as an Error: ENOENT, EACCES, ETIMEDOUT and the like get their own Errc.
/// The text is the library's and names nothing: callers put the step in front (Error::in).
Error uv_error(int code);

/// An owner may die before its handle: the handle is a heap block of its own that only the close callback
/// frees. Destroying the owner stops callbacks at once. H is one of uv_timer_s, uv_poll_s, ...
template <class H>
class Handle {
 public:
  Handle() = default;
  /// init(H*) returns 0 or UV_E*; on failure libuv must not have kept the pointer.
  template <class Init>
  static Result<Handle> open(Init init) {
    auto raw = std::make_unique<H>();
    if (const int code = init(raw.get()); code != 0) return uv_error(code);
    return Handle(raw.release());
  }
  /// Takes over an initialised handle.
  explicit Handle(H* raw) : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  /// Exchanges the two, so that the handle of before is closed when `other` goes.
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
  /// Stays ours; nullptr when there is none.
  H* get() const { return raw_; }
  H* operator->() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }
  /// The caller's from now on, who has to see to it that close_handle() is called.
  H* release() { return std::exchange(raw_, nullptr); }

 private:
  H* raw_ = nullptr;
};

}  // namespace sliced::reactor
