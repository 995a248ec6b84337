#pragma once
// What a slice tells of entries that may be allocated: those that stand in it, and in an annotation those
// that were withdrawn and have not been shown free since. Pure.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "kube/resource_slice.h"
#include "policy/holding.h"
#include "reactor/base/result.h"

namespace sliced::policy {

/// On the first slice of a pool. JSON: a list of entry names, or of objects
/// {"entry", "device", "base", "shared", "group"} where the name alone does not tell the rest.
inline constexpr std::string_view kWithdrawnAnnotation = "dra.networking/withdrawn";

/// Sorted by entry; the same claims give the same text.
std::string encode_withdrawn(std::vector<Holding> claims);
/// Of the 256 KiB of an object's annotations, some of which are others'.
inline constexpr size_t kRecordBytesMax = size_t{64} << 10;
/// The record of a pool: the same within kRecordBytesMax. What takes more is written as
/// claim_of_unreadable(), which stands for every entry of the pool.
std::string encode_record(std::vector<Holding> claims, const std::string& pool);
/// What names an entry but does not tell the rest counts as exclusive, and as one of each group. kInvalid
/// when there is something without a name.
Result<std::vector<Holding>> decode_withdrawn(std::string_view text);

/// An exclusive entry without a group that has its function's name, as the SR-IOV driver's have.
Holding claim_of_function(const std::string& entry);

/// The same, withdrawn, of an entry whose group is not known.
Holding claim_of_unknown(const std::string& entry);
/// The same, also of a link's entry: the link whose label the name begins with.
Holding claim_of_unknown(const std::string& entry, const hotplug::Inventory& inventory);

/// The device of a claim that may be on any device of its pool.
inline constexpr std::string_view kAnyDevice = "any device";  // no interface's name
/// The entry of a claim that stands for all that is not known.
inline constexpr std::string_view kUnknownEntry = "unreadable record";  // no entry has such a name

/// In place of a record that cannot be understood, is lost, or would be too long: on the PF as a whole, or on
/// any device in a pool without one.
Holding claim_of_unreadable(const std::string& pool);

/// What a published entry of that driver tells of itself. device is "" where it does not tell its device;
/// such a claim charges nothing.
Holding claim_of_entry(const kube::Device& entry, const std::string& driver);

}  // namespace sliced::policy
