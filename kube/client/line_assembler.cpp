#include "kube/client/line_assembler.h"

namespace sliced::kube {
namespace {

// One large object does not pin its memory for the life of the watch: slices of 128 devices have 100 KB.
constexpr size_t kLineCapacityKept = 16u << 10;

std::string_view without_cr(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace

Result<Unit> LineAssembler::feed(std::string_view bytes, const OnLine& on_line) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    const std::string_view accepted = part.substr(0, line_bytes_max_ + 1 - line_.size());
    if (end == std::string_view::npos) {
      line_ += accepted;
      return Unit{};
    }
    bytes.remove_prefix(end + 1);
    bool should_continue = false;
    if (line_.empty()) {
      should_continue = on_line(without_cr(accepted));
    } else {
      line_ += accepted;
      should_continue = on_line(without_cr(line_));
      line_.clear();
      if (line_.capacity() > kLineCapacityKept) std::string().swap(line_);
    }
    if (!should_continue) return Error{Errc::kCanceled, "canceled"};
  }
  return Unit{};
}

}  // namespace sliced::kube
