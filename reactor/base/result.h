#pragma once
// Errors as values. The text names the outermost step first: "policy eth-vfs: spec.configs[0]: ...".
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sliced {

/// Codes that some caller distinguishes, independent of the source (file, kernel, server); all others are
/// kIo.
enum class Errc {
  kIo,        // the operating system or the network refused
  kTimeout,   // a deadline passed
  kCanceled,  // the owner was destroyed
  kNotFound,  // ENOENT, HTTP 404
  kGone,      // HTTP 410: relist
  kConflict,  // HTTP 409, failed precondition
  kDenied,    // EACCES, HTTP 401 and 403
  kInvalid,   // input that cannot be understood or is refused (HTTP 400, 422)
  kTooLarge,  // a bound of ours was exceeded
  kBusy,      // try later (HTTP 429, 5xx)
};

/// `what` is for people: object, field, value and remedy, with foreign bytes escaped. Code must not parse it.
/// One Error is one failure; several problems of one object go into a FirstFew (first_few.h).
struct Error {
  Errc code = Errc::kIo;
  std::string what;

  /// Returns the error with the text "step: what" and the same code. Use: `return
  /// std::move(failed.error()).in("read node")`.
  Error in(std::string_view step) && { return {code, std::string(step) + ": " + what}; }
  bool operator==(const Error&) const = default;
};

/// The value of an operation without one: Result<Unit>.
struct Unit {
  bool operator==(const Unit&) const = default;
};

/// A value or an Error. Reading the wrong one aborts, also in release builds. Throws nothing; running out of
/// memory ends the process.
template <class T>
class [[nodiscard]] Result {
 public:
  // Both conversions are implicit, so that a function can return its value or its Error. T must not be Error.
  Result(T value) : value_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : error_(std::move(error)) {}  // NOLINT

  /// Returns true if there is a value.
  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  /// Valid as long as the Result: do not loop over *make().
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

  /// Returns the value, or `otherwise` in place of an error.
  T value_or(T other) const& { return ok() ? value() : std::move(other); }

 private:
  // Not a std::variant: it multiplies the time of compilation, and there are about a hundred instances.
  std::optional<T> value_;
  Error error_;  // valid if there is no value
};

}  // namespace sliced
