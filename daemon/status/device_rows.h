#pragma once
// The devices of a node as the page shows them: a row each, in the order of PFs with their VFs, then all others. Values;
// whoever knows the host fills them in. Pure.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kube/objects/json.h"

namespace sliced::status {

/// Texts as others have them: made fit for people where they are told.
struct DeviceRow {
  std::string id;         // of the host device
  std::string type;       // pf vf nic bridge vlan bond virtual
  std::string kind;       // "PF, 4 of 8 VFs", "VF 3"
  std::string interface;  // "" none
  std::string link;       // "up 25 Gb/s", "down", "away", "" without an interface
  std::string driver;
  std::string disposition;  // "offered", "hidden", "held-back", "unmatched": as sliced_host_devices has them
  std::string claim;        // it is prepared for, "ns/name"; "" none, or not known here
  std::string why;          // a sentence
  std::string group;        // devices of one group stand together: the PF's id; "~" for what belongs to none
  std::string order;        // within it
  bool operator==(const DeviceRow&) const = default;
};

/// Of one moment. rows: in order of group, then order.
struct DeviceRows {
  uint64_t moment = 0;  // grows
  std::vector<DeviceRow> rows;
};
void sort_rows(std::vector<DeviceRow>& rows);

/// Members are those above, all of them; texts are made fit for people and cut at 1 KiB.
kube::Json json_of(const DeviceRow& row);

/// What takes a page from one moment to another: {"from":n,"to":m,"set":[rows],"gone":[ids]}; with more than changes_max of
/// them only {"to":m}, and whoever hears it reads all rows again. is_whole: which of the two.
struct RowsDelta {
  kube::Json json;
  bool is_whole = true, is_empty = true;
};
/// Ids are unique within rows. With is_empty nothing differs, whatever the moments are.
RowsDelta difference(const DeviceRows& before, const DeviceRows& now, size_t changes_max = 256);

}  // namespace sliced::status
