#include "kube/objects/names.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::kube {
namespace {

bool is_label_char(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

}  // namespace

bool is_dns_label(std::string_view text) {
  if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') return false;
  return std::all_of(text.begin(), text.end(), is_label_char);
}

bool is_dns_subdomain(std::string_view text, size_t size_max) {
  if (text.empty() || text.size() > size_max) return false;
  const auto parts = split(text, '.');
  return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    return !part.empty() && part.front() != '-' && part.back() != '-' &&
           std::all_of(part.begin(), part.end(), is_label_char);
  });
}

std::optional<std::array<int64_t, 3>> decode_git_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const auto parts = split(text.substr(0, text.find_first_of("-+")), '.');
  std::array<int64_t, 3> out;
  if (parts.size() != out.size()) return std::nullopt;
  for (size_t i = 0; i < out.size(); ++i) {
    const auto number = parse_int(parts[i]);
    if (!number || *number < 0) return std::nullopt;
    out[i] = *number;
  }
  return out;
}

}  // namespace sliced::kube
