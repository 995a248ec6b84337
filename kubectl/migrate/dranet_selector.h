#pragma once
// CEL of dranet's users as CEL over the attributes of sliced. dranet: kubernetes-sigs/dranet at f258477, pkg/apis/attributes.go and
// pkg/inventory. Text that is not about dranet stays as it is written. Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::migrate {

inline constexpr std::string_view kDranetDriver = "dra.net";

/// A part of an expression without a counterpart.
struct Untranslated {
  std::string part;    // as it is written: `device.attributes["dra.net"].ipv4`
  std::string why;     // "sliced publishes no IP addresses"
  std::string remedy;  // "select by ifName or pciAddress"
};

struct Translated {
  std::string text;
  bool names_dranet = false;  // dranet's driver name or one of its attributes is in it
  /// In a claim's or class's selector: parts that `text` still has. No device of sliced has their attributes, so that they match nothing.
  std::vector<Untranslated> untranslated;
  std::vector<std::string> interfaces;  // every name that the interface is compared with
  std::string
      only_interface;  // the one that the device's interface has where the selector matches; "" unknown
  bool selects_rdma = false;               // by rdma or rdmaDevice
  bool selects_without_interface = false;  // devices that have no network interface: EFA, eRDMA
};

/// A selector of a DeviceClass or of a request. driver: that of DeviceExposurePolicies, below which the attributes are published.
/// An attribute that dranet publishes of each device, and sliced only where it is known, is read with a default: an absent one ends the
/// scheduler's attempt. Errors: kInvalid: `text` is no CEL expression, with the column.
Result<Translated> translate_selector(const std::string& text, std::string_view driver);

/// dranet's option --filter, over `attributes`, as a condition for DeviceExposurePolicies. A device on which the filter fails stays published in
/// dranet; here an attribute that is absent reads as "", 0 or false. `type` compared with the kind of a virtual interface (veth, dummy) is false.
/// Errors: kInvalid, as above.
Result<Translated> translate_filter(const std::string& text, std::string_view driver);

/// "dra.net/numaNode" of a constraint (matchAttribute, distinctAttribute): the key of the attribute with the same values; the same text if it
/// is another driver's. nullopt: there is none.
std::optional<std::string> translate_attribute(std::string_view key, std::string_view driver);
/// Why there is none, and what to do; part: the key.
Untranslated why_no_attribute(std::string_view key);

}  // namespace sliced::migrate
