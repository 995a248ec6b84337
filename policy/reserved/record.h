#pragma once
// Encodes and decodes reserved entries in slices: the slice's devices, and withdrawn entries in an
// annotation. Pure.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/resource_slice.h"
#include "policy/holding.h"
#include "reactor/base/result.h"

namespace sliced::policy {

/// On the first slice of a pool. JSON: a list of entry names, or of objects
/// {"entry", "device", "base", "shared", "group", "contested"} if the name does not determine the rest.
inline constexpr std::string_view kWithdrawnAnnotation = "dra.networking/withdrawn";
/// On each slice with entries of DeviceExposurePolicies. JSON: {"entries": fingerprint of their names,
/// "groups": {exclusionGroup: [entry, ...]}}; other entries have no group.
inline constexpr std::string_view kGroupsAnnotation = "dra.networking/groups";
/// Share of the 256 KiB of an object's annotations, which others use, too.
inline constexpr size_t kRecordBytesMax = size_t{64} << 10;

inline bool is_unknown(const Holding& holding) { return holding.entry == kUnknownEntry; }

/// The withdrawn entries of a pool. Equal holdings give equal text.
class Record {
 public:
  Record() = default;
  /// holdings: in any order, each entry once. A record of more than kRecordBytesMax becomes
  /// whole_holding(pool), which represents every entry of the pool.
  Record(std::vector<Holding> holdings, const std::string& pool);
  /// An item with a name alone is exclusive and belongs to each group. Errors: kInvalid for an item without a
  /// name, kTooLarge beyond kRecordBytesMax.
  static Result<Record> decode(std::string_view text);
  /// Returns the record of a slice; empty if absent or invalid.
  static Record of(const kube::ResourceSlice& slice);

  bool empty() const { return holdings_.empty(); }
  const std::vector<Holding>& holdings() const& { return holdings_; }
  std::vector<Holding> holdings() && { return std::move(holdings_); }
  /// The annotation's value; "" when empty.
  const std::string& text() const { return text_; }
  bool operator==(const Record& other) const { return text_ == other.text_; }

 private:
  std::vector<Holding> holdings_;  // by entry; all withdrawn
  std::string text_;
};

/// Returns an exclusive holding without a group, named after its function, as entries of the SR-IOV driver
/// are.
Holding holding_of_function(const std::string& entry);

/// The same for a withdrawn entry of unknown group.
Holding unknown_holding(const std::string& entry);
/// The same, also for a link: the one whose label the name starts with.
Holding unknown_holding(const std::string& entry, const hotplug::Inventory& inventory);

/// Returns the holding of the whole PF, or of any device in a pool without PF: for a record that is invalid,
/// lost or too long.
Holding whole_holding(const std::string& pool);

/// exclusionGroup by entry; entries without a group are absent.
using Groups = std::map<std::string, std::string>;
/// Returns the value of kGroupsAnnotation for these entries. groups: of the whole pool.
std::string encode_groups(const std::vector<kube::DevicePtr>& entries, const Groups& groups);

/// Returns the holdings of a slice of DeviceExposurePolicies, in its order. device is "" if the entry does
/// not name it; such a holding reserves nothing. If kGroupsAnnotation is absent or of other entries, each
/// entry belongs to each group.
std::vector<Holding> holdings_of_entries(const kube::ResourceSlice& slice);

}  // namespace sliced::policy
