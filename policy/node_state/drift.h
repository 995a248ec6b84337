#pragma once
// Compares the host with a SriovNetworkNodeState, by this daemon's own reading of the host: a table of rules,
// one for each field, with its exemptions.
//
// The fields have the operator's meaning (NeedToUpdateSriov of api/v1/helper.go, and the settings of its
// daemon), with two differences. An externally managed PF has the same rules as another one, although the
// operator always reconfigures it. And it may have more VFs than required, as the operator's webhook allows.
//
// Pure: the same object and inventory give the same result.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "policy/node_state/node_state.h"

namespace sliced::policy {

/// kExempt: the field does not apply, or is legitimately unreadable (an interface in a pod). kUnknown: it
/// applies, and could not be read.
enum class DriftIs { kSame, kExempt, kDiffers, kUnknown };

/// The result of comparing one field, unless it is kSame.
struct DriftFinding {
  DriftIs is = DriftIs::kSame;
  std::string_view field;      // "numVfs": a literal of the table
  std::optional<int> vf;       // nullopt: a field of the PF
  std::string device;          // PCI address of the function
  std::string wanted, found;   // of kDiffers only
  std::string why;             // of the other results; foreign text is escaped
  std::string reported;        // kDiffers: the value in the object's status; "" if it has none
  bool is_vf_setting = false;  // the field is one of the PF's VF settings
  bool operator==(const DriftFinding&) const = default;
};

/// Returns "adminMac of VF 2 is 00:00:00:00:00:00, wanted a MAC".
std::string text_of(const DriftFinding& finding);

/// The comparison of one element of spec.interfaces, with the VFs that its groups cover.
struct InterfaceDrift {
  std::string pci, name;  // name: the present one of the interface; if unknown, the one in the object
  bool externally_managed = false;
  size_t vfs = 0;                      // number of compared VFs
  std::vector<DriftFinding> findings;  // of the PF, then by VF; in the order of the table
  bool reads_vf_settings = false;      // a rule reads VF settings of the PF
  Problems problems;                   // of the object; if not empty, nothing is compared
  bool operator==(const InterfaceDrift&) const = default;

  bool differs() const;
  /// Returns true if all applicable fields were read and are as required.
  bool is_in_sync() const;
  /// Returns true if the state of this PF depends on its VF settings only: a rule reads them, and every other
  /// field is as required or exempt. The PF must then be queried, because the kernel reports no changes of VF
  /// settings.
  bool depends_on_vf_settings() const;
};

struct DriftRequest {
  const SriovNodeState& state;
  const hotplug::Inventory& host;
  /// Returns true if a pod has the function. Its MAC address then depends on the pod. Optional.
  std::function<bool(const hotplug::HostDevice&)> is_prepared = {};
};
/// Returns the comparisons in the order of spec.interfaces.
std::vector<InterfaceDrift> judge_drift(const DriftRequest& request);
/// Compares one element.
InterfaceDrift judge_interface(const DriftRequest& request, const SriovNodeState::Wanted& wanted);

}  // namespace sliced::policy
