#pragma once
// Converts the config of a NetworkAttachmentDefinition to its canonical form. The text for CNI plugins is
// written from the decoded value, with each key once and in one spelling, and contains only fields that the
// author may set. CNI plugins are Go programs: encoding/json matches keys case-insensitively, merges objects,
// and lets the last key win. So a check of one spelling would not hold for the value that a plugin reads.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/cni/plugin_fields.h"
#include "reactor/base/result.h"

namespace sliced::cni {

/// The device that was allocated to the claim.
struct DefinitionDevice {
  std::string pci;        // "0000:03:00.2"; "" for a link
  std::string interface;  // its own on the host; "" if none
  /// No other claim has it: plugins get its address, and may use it as a whole.
  bool is_exclusive = true;
  /// It is bound to vfio-pci for the pod, so no plugin creates an interface from it.
  bool is_on_vfio = false;
  bool is_no_bridge = false;  // it is a link of another kind than bridge
};

/// Returns config in canonical form as JSON, one plugin or a list as it was written. `master`, `bridge` and
/// `device` are the device's own interface. name: of a config without one, as in decode_network(). device:
/// nullopt skips checks that depend on the device (validate, webhook).
/// Errors: kInvalid, kTooLarge: those of decode_network(); a key that plugins read differently
/// (check_keys()); a plugin that is not permitted; a field that its author may not set; a bad value; another
/// device or interface than the claim's. Each names plugin, field, value and expected value.
Result<std::string> canonical_definition(std::string_view config, std::string_view name,
                                         const DefinitionRules& rules,
                                         const std::optional<DefinitionDevice>& device);

/// Returns `ipam` of a VfConfig's network in canonical form, by the table for `ipam` in a definition.
/// Requires: a map. Errors: kInvalid: a key that a plugin reads differently, a type without a table, a field
/// that its author may not set, a bad value.
Result<kube::Json> canonical_ipam(const kube::Json& ipam, const DefinitionRules& rules);

/// Returns config for the DEL of an attachment of another driver with other rules: in canonical form, without
/// the members that are refused even in an administrator's definition. The name of a parent interface on the
/// host is kept, since DEL only removes the pod's interface; host-device gets the device's address. Errors:
/// kInvalid, kTooLarge: those of decode_network().
Result<std::string> reduced_definition(std::string_view config, std::string_view name);

/// Returns the plugins and features that must be listed for this config to run: "portmap", "bridge.ipMasq".
/// For warnings. Requires: canonical_definition() accepts the config.
std::vector<std::string> names_to_list(std::string_view config);

}  // namespace sliced::cni
