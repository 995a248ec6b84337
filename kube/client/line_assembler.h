#pragma once
// Cuts a byte stream into lines ending in LF (a CR before it is dropped): the frames of a watch.
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::kube {

/// Bounds:  a longer line is given as its first line_bytes_max + 1 bytes: its end is missing, and that can
///          be seen.
/// Errors:  kCanceled when on_line returned false. The assembler is of no use then.
/// Reentry: on_line must not destroy the assembler; it returns false to stop.
class LineAssembler {
 public:
  using OnLine = std::function<bool(std::string_view line)>;  // valid during the call
  explicit LineAssembler(size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}
  /// Cut anywhere. on_line is called for each line that ends in it, without the line's end.
  Result<Unit> feed(std::string_view bytes, const OnLine& on_line);
  /// Bytes of a line whose end has not come.
  size_t pending() const { return line_.size(); }
  /// Above 16 KiB it is given back when a line has ended: one large object does not pin it for the life of a watch.
  size_t capacity() const { return line_.capacity(); }  // of memory

 private:
  const size_t line_bytes_max_;
  std::string line_;
};

}  // namespace sliced::kube
