#pragma once
// A NetworkAttachmentDefinition's config in its canonical form: what is passed to CNI plugins is written from the decoded
// value, with each key once and in one spelling, and contains only fields that the author may set.
//
// CNI plugins are Go programs. encoding/json matches keys without regard to case, merges objects and lets the last key win,
// so a check of one spelling does not hold for what a plugin reads.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/cni/plugin_fields.h"
#include "reactor/base/result.h"

namespace sliced::cni {

/// The device that the claim was allocated.
struct DefinitionDevice {
  std::string pci;        // "0000:03:00.2"; "" of a link
  std::string interface;  // its own on the host; "" none
  /// No other claim has it: plugins get its address, and may take it as a whole.
  bool is_exclusive = true;
  /// It is bound to vfio-pci for the pod, so no plugin gives the pod an interface of it.
  bool is_on_vfio = false;
  bool is_no_bridge = false;  // it is known to be another kind of link
};

/// config as JSON in canonical form, one plugin or a list as it was written; `master`, `bridge` and `device` are the device's
/// own interface. name: of a config without one, as decode_network() has it.
/// device: nullopt checks what does not depend on the device (validate, webhook).
/// Errors: kInvalid, kTooLarge: those of decode_network(); a key that a plugin reads otherwise than we do (check_keys()); a
/// plugin that may not run; a field that its author may not set; a bad value; another device or interface than the claim's.
/// They name plugin, field, value and what is wanted.
Result<std::string> canonical_definition(std::string_view config, std::string_view name,
                                         const DefinitionRules& rules,
                                         const std::optional<DefinitionDevice>& device);

/// config for DEL of what another driver has attached by rules of its own: in canonical form, without each member that is refused of
/// an administrator's definition. An interface of the host that a plugin stands on stays as it was written, since DEL removes
/// the pod's interface alone; host-device is given the device's address.
/// Errors: kInvalid, kTooLarge: those of decode_network().
Result<std::string> reduced_definition(std::string_view config, std::string_view name);

/// What would have to be listed for this config to run where nothing is: "portmap", "bridge.ipMasq". For warnings.
/// Requires a config that canonical_definition() accepts.
std::vector<std::string> names_to_list(std::string_view config);

}  // namespace sliced::cni
