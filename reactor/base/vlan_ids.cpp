#include "reactor/base/vlan_ids.h"

#include "reactor/base/text.h"

namespace sliced {
namespace {

std::optional<size_t> vlan_id_in(std::string_view text) {
  const bool is_number = !text.empty() && text.size() <= 4 &&
                         text.find_first_not_of("0123456789") == std::string_view::npos &&
                         (text.size() == 1 || text.front() != '0');
  const auto number = is_number ? parse_int(text) : std::nullopt;
  if (!number || *number > VlanIds::kMax) return std::nullopt;
  return static_cast<size_t>(*number);
}

}  // namespace

VlanIds VlanIds::all() {
  VlanIds out;
  out.ids_.set();
  return out;
}

std::optional<VlanIds> VlanIds::decode(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = vlan_id_in(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : vlan_id_in(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  VlanIds out;
  for (size_t id = *first; id <= *last; ++id) out.ids_.set(id);
  return out;
}

std::vector<std::string> VlanIds::texts() const {
  std::vector<std::string> out;
  for (size_t first = 0; first < ids_.size(); ++first) {
    if (!ids_.test(first)) continue;
    size_t last = first;
    while (last + 1 < ids_.size() && ids_.test(last + 1)) ++last;
    out.push_back(std::to_string(first) + (last > first ? "-" + std::to_string(last) : ""));
    first = last;
  }
  return out;
}

VlanIds& VlanIds::operator|=(const VlanIds& others) {
  ids_ |= others.ids_;
  return *this;
}

VlanIds& VlanIds::operator&=(const VlanIds& others) {
  ids_ &= others.ids_;
  return *this;
}

std::vector<std::string> with_vlan_ids(const std::vector<std::string>& settings, const VlanIds& ids) {
  std::vector<std::string> out;
  for (const std::string& setting : settings) {
    if (setting != "vlan" || ids.is_all()) {
      out.push_back(setting);
      continue;
    }
    for (const std::string& text : ids.texts()) out.push_back("vlan=" + text);
  }
  return out;
}

}  // namespace sliced
