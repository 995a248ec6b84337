#pragma once
// What slices tell of entries that may be allocated: those that stand in them, and in an annotation those that
// were withdrawn and have not been shown free since. The one codec of that record. Pure.
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
/// {"entry", "device", "base", "shared", "group", "contested"} where the name alone does not tell the rest.
inline constexpr std::string_view kWithdrawnAnnotation = "dra.networking/withdrawn";
/// On each slice with entries of DeviceExposurePolicies. JSON: {"entries": fingerprint of their names, "groups":
/// {exclusionGroup: [entry, ...]}}; who is in none of them has none.
inline constexpr std::string_view kGroupsAnnotation = "dra.networking/groups";
/// Of the 256 KiB of an object's annotations, some of which are others'.
inline constexpr size_t kRecordBytesMax = size_t{64} << 10;

inline bool is_unknown(const Holding& holding) { return holding.entry == kUnknownEntry; }

/// What was withdrawn of a pool. A value; the same holdings give the same text.
class Record {
 public:
  Record() = default;  // of nothing
  /// holdings: in any order, each entry once. What takes more than kRecordBytesMax is recorded as
  /// whole_holding(pool), which stands for every entry of the pool.
  Record(std::vector<Holding> holdings, const std::string& pool);
  /// What names an entry but does not tell the rest counts as exclusive, and as one of each group. kInvalid
  /// when there is something without a name, kTooLarge beyond kRecordBytesMax.
  static Result<Record> decode(std::string_view text);
  /// As it stands on a slice: empty where there is none, or one that cannot be understood.
  static Record of(const kube::ResourceSlice& slice);

  bool empty() const { return holdings_.empty(); }
  const std::vector<Holding>& holdings() const& { return holdings_; }
  std::vector<Holding> holdings() && { return std::move(holdings_); }
  /// The annotation's value; "" when empty.
  const std::string& text() const { return text_; }
  bool operator==(const Record& other) const { return text_ == other.text_; }

 private:
  std::vector<Holding> holdings_;  // by entry, all of them withdrawn
  std::string text_;
};

/// An exclusive entry without a group that has its function's name, as the SR-IOV driver's have.
Holding holding_of_function(const std::string& entry);

/// The same, withdrawn, of an entry whose group is not known.
Holding unknown_holding(const std::string& entry);
/// The same, also of a link's entry: the link whose label the name begins with.
Holding unknown_holding(const std::string& entry, const hotplug::Inventory& inventory);

/// In place of a record that cannot be understood, is lost, or would be too long: on the PF as a whole, or on
/// any device in a pool without one.
Holding whole_holding(const std::string& pool);

/// exclusionGroups by entry, without those that have none.
using Groups = std::map<std::string, std::string>;
/// For a slice with these entries. groups: of the whole pool.
std::string encode_groups(const std::vector<kube::DevicePtr>& entries, const Groups& groups);

/// What the entries of a slice of DeviceExposurePolicies tell of themselves, in their order. device is "" of one
/// that does not tell its device; such a holding charges nothing. Where the slice does not tell groups, or tells
/// those of other entries, each counts as one of each group.
std::vector<Holding> holdings_of_entries(const kube::ResourceSlice& slice);

}  // namespace sliced::policy
