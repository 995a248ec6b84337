#pragma once
// Sets of VLAN ids (IEEE 802.1Q): 1 to 4094, and 0 for no VLAN.
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sliced {

class VlanIds {
 public:
  static constexpr int kMax = 4'094;

  VlanIds() = default;  // none
  static VlanIds all();
  /// "100" or "100-199". Returns nullopt for any other text, a number above kMax, and a range without an id.
  static std::optional<VlanIds> decode(std::string_view text);

  bool is_all() const { return ids_.all(); }
  bool empty() const { return ids_.none(); }
  bool contains(int64_t id) const { return id >= 0 && id <= kMax && ids_.test(static_cast<size_t>(id)); }
  bool contains_all(const VlanIds& others) const { return (others.ids_ & ~ids_).none(); }
  /// As decode() reads them, in order and joined where they touch: "100", "200-299".
  std::vector<std::string> texts() const;

  VlanIds& operator|=(const VlanIds& others);
  VlanIds& operator&=(const VlanIds& others);
  bool operator==(const VlanIds&) const = default;

 private:
  std::bitset<kMax + 1> ids_;
};

/// Returns the names of VF settings with the ids of `vlan`: {"vlan", "trust"} becomes {"vlan=100",
/// "vlan=200-299", "trust"}; unchanged for all().
std::vector<std::string> with_vlan_ids(const std::vector<std::string>& settings, const VlanIds& ids);

}  // namespace sliced
