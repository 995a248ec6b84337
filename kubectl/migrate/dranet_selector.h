#pragma once
// Translates CEL of dranet's users to CEL over sliced's attributes. Source: kubernetes-sigs/dranet at
// f258477, pkg/apis/attributes.go and pkg/inventory. Text that does not refer to dranet stays unchanged.
// Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::migrate {

inline constexpr std::string_view kDranetDriver = "dra.net";

/// A part of an expression without a counterpart.
struct Untranslated {
  std::string part;    // as written: `device.attributes["dra.net"].ipv4`
  std::string why;     // "sliced publishes no IP addresses"
  std::string remedy;  // "select by ifName or pciAddress"
};

struct Translated {
  std::string text;
  bool names_dranet = false;  // contains dranet's driver name or an attribute of its domain
  /// The parts that remain in `text` of a claim's or class's selector. No device of sliced has their
  /// attributes, so they match nothing.
  std::vector<Untranslated> untranslated;
  std::vector<std::string> interfaces;     // every name that the interface is compared with
  std::string only_interface;              // the interface name that every match has; "": unknown
  bool selects_rdma = false;               // reads rdma or rdmaDevice
  bool selects_without_interface = false;  // devices that have no network interface: EFA, eRDMA
};

/// Translates a selector of a DeviceClass or of a request. driver: the driver of the DeviceExposurePolicies,
/// which is the domain of the attributes.
/// An attribute that dranet publishes for each device, and sliced only where it is known, is read with a
/// default: an absent attribute is an error that ends the scheduler's attempt.
/// Errors: kInvalid, with the column, if `text` is not a CEL expression.
Result<Translated> translate_selector(const std::string& text, std::string_view driver);

/// Translates dranet's option --filter (over `attributes`) to a condition for DeviceExposurePolicies. If the
/// filter fails for a device, dranet publishes it; here an absent attribute reads as "", 0 or false. A
/// comparison of `type` with the kind of a virtual interface (veth, dummy) is false.
/// Errors: kInvalid, as above.
Result<Translated> translate_filter(const std::string& text, std::string_view driver);

/// Translates the attribute key of a constraint (matchAttribute, distinctAttribute), such as
/// "dra.net/numaNode". Returns the key of the attribute with the same values, the same key if it is another
/// driver's, or nullopt if there is no counterpart.
std::optional<std::string> translate_attribute(std::string_view key, std::string_view driver);
/// Returns the reason and the remedy for a key without counterpart. part: the key.
Untranslated why_no_attribute(std::string_view key);

}  // namespace sliced::migrate
