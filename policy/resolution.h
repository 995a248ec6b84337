#pragma once
// What DeviceExposurePolicies say of the devices of a node, before anything is held back: made by
// exposure/resolve of the answers of selectors, read by the deciding of both kinds, since excludes are for both.
#include <cstdint>
#include <string>
#include <vector>

namespace sliced::policy {

/// The winner of a suffix.
struct Winner {
  int32_t policy = -1;
  /// One of its suffix that comes before it, and may mean the device and offer it in another way: its selector
  /// asks for what is not known. -1: none.
  int32_t waits_for = -1;
  bool operator==(const Winner&) const = default;
};

/// Of one device. An exclude is stronger than any expose, whatever their priorities; one whose selector errs on
/// the device hides it too, since nobody can say that it would not.
struct Resolution {
  int32_t excluded_by = -1;           // the first exclude that selects the device
  bool is_excluded_by_error = false;  // its selector erred there, which hides the device too
  bool is_unknown = false;            // no exclude is known to select it, but that one may
  std::vector<Winner> personas;       // by suffix
  bool operator==(const Resolution&) const = default;
};

/// Of all devices of one inventory.
struct Resolutions {
  std::vector<Resolution> devices;  // in the inventory's order
  /// The excludes that entries of functions stand under, for DesiredPool::excludes; of both kinds.
  std::string exclude_record;
};

}  // namespace sliced::policy
