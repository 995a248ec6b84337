#pragma once
// The devices of a node on the page: a row each, PFs with their VFs first, then all others. Plain values that
// the caller fills in. Pure.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kube/objects/json.h"

namespace sliced::status {

/// Texts are unescaped; they are made printable when they are encoded.
struct DeviceRow {
  std::string id;         // of the host device
  std::string type;       // pf vf nic bridge vlan bond virtual
  std::string kind;       // "PF, 4 of 8 VFs", "VF 3"
  std::string interface;  // "" if none
  std::string link;       // "up 25 Gb/s", "down", "away", "" without an interface
  std::string driver;
  std::string disposition;  // "offered", "hidden", "held-back", "unmatched": as in sliced_host_devices
  std::string claim;        // for which it is prepared, "ns/name"; "" if none, or unknown
  std::string why;          // a sentence
  std::string group;        // devices of one group are adjacent: the PF's id; "~" for devices without one
  std::string order;        // within the group
  bool operator==(const DeviceRow&) const = default;
};

/// A snapshot. rows: sorted by group, then order.
struct DeviceRows {
  uint64_t moment = 0;  // grows
  std::vector<DeviceRow> rows;
};
void sort_rows(std::vector<DeviceRow>& rows);

/// Encodes all members above; texts are made printable and truncated at 1 KiB.
kube::Json json_of(const DeviceRow& row);

/// An update of a page from one moment to another: {"from":n,"to":m,"set":[rows],"gone":[ids]}; with more
/// than changes_max changes only {"to":m}, and the client reads all rows again. is_whole: the first form.
struct RowsDelta {
  kube::Json json;
  bool is_whole = true, is_empty = true;
};
/// Requires: ids are unique within rows. With is_empty nothing differs, even if the moments do.
RowsDelta difference(const DeviceRows& before, const DeviceRows& now, size_t changes_max = 256);

}  // namespace sliced::status
