#pragma once
// Cuts a byte stream into lines ending in LF (a CR before it is dropped): the frames of a watch.
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::kube {

/// Bounds:  a longer line is passed as its first line_bytes_max + 1 bytes, so that the receiver sees the
/// truncation.
/// Errors:  kCanceled if on_line returned false. The assembler must not be used after that.
class LineAssembler {
 public:
  using OnLine = std::function<bool(std::string_view line)>;  // valid during the call
  explicit LineAssembler(size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}
  /// The bytes may be split anywhere. on_line is called for each complete line, without its line end.
  Result<Unit> feed(std::string_view bytes, const OnLine& on_line);
  /// Returns the bytes of the incomplete line.
  size_t pending() const { return line_.size(); }
  /// Memory above 16 KiB is released after each line, so that one large object does not occupy it for the
  /// life of a watch.
  size_t capacity() const { return line_.capacity(); }  // of memory

 private:
  const size_t line_bytes_max_;
  std::string line_;
};

}  // namespace sliced::kube
