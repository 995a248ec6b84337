#pragma once
// Errors as values. A code exists only where some caller branches on it; the text reads outermost step first:
// "policy eth-vfs: spec.configs[0]: ...".
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sliced {

/// What callers branch on, whatever it was that failed: a file, the kernel, a server. What nobody tells
/// apart has no code of its own and is kIo.
enum class Errc {
  kIo,        // the operating system or the network said no
  kTimeout,   // a deadline passed
  kCanceled,  // the owner went away
  kNotFound,  // ENOENT, HTTP 404
  kGone,      // HTTP 410: relist
  kConflict,  // HTTP 409, failed precondition
  kDenied,    // EACCES, HTTP 401 and 403
  kInvalid,   // input that cannot be understood or is refused (HTTP 400, 422)
  kTooLarge,  // a bound of ours was exceeded
  kBusy,      // try later (HTTP 429, 5xx)
};

/// A failure as a value. `what` is for people: the object, the field, the value and the remedy; foreign
/// bytes in it are escaped by whoever puts them there. Nobody reads it to decide anything.
/// One failure is one Error: what fails in several ways at once says the first, and whoever collects problems
/// of an object has FirstFew (first_few.h) for it.
struct Error {
  Errc code = Errc::kIo;
  std::string what;

  /// The same failure seen from one step further out: "step: what".
  /// Takes the Error over: `return std::move(failed.error()).in("read node")`. The code stays what it was.
  Error in(std::string_view step) && { return {code, std::string(step) + ": " + what}; }
  bool operator==(const Error&) const = default;
};

/// The value of what gives none: Result<Unit> says that it went well, or why not.
struct Unit {
  bool operator==(const Unit&) const = default;
};

/// A value or an Error. Reading the wrong side is a programmer's error and aborts, in release builds too:
/// an exception would have to pass C callbacks, which none may.
/// Ownership: holds either; moving out of it leaves it in the state it was in, with a value that was moved
/// from.
/// Exceptions: none is thrown here, and none is expected: running out of memory ends the process.
template <class T>
class [[nodiscard]] Result {
 public:
  // Both convert, so that a function returns its value, or its Error, as it is. T may not be Error.
  Result(T value) : value_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : error_(std::move(error)) {}  // NOLINT

  /// Ask before reading; [[nodiscard]] reminds whoever asks for nothing at all.
  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  /// The reference lasts as long as the Result: a loop over *make() would walk what is gone already.
  T& value() & {
    if (!value_) std::abort();
    return *value_;
  }
  const T& value() const& {
    if (!value_) std::abort();
    return *value_;
  }
  T&& value() && { return std::move(value()); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() {
    if (value_) std::abort();
    return error_;
  }
  const Error& error() const {
    if (value_) std::abort();
    return error_;
  }

  /// For what may fail and has a stand-in: the error is lost.
  T value_or(T other) const& { return ok() ? value() : std::move(other); }

 private:
  // Not a variant of both: a compiler takes several times as long for one, and there are a hundred of these.
  std::optional<T> value_;
  Error error_;  // where there is no value
};

}  // namespace sliced
