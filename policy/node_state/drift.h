#pragma once
// Whether the host is as a SriovNetworkNodeState wants it, by our own reading of the host: a table of rules, one a
// field, each with what it does not ask.
//
// The meaning of each field is the operator's (NeedToUpdateSriov of api/v1/helper.go, and what its daemon sets), with
// two differences. An externally managed PF is judged by the same rules as another one, where the operator has to
// reconfigure it whatever it finds; and it may have more VFs than are wanted, as its webhook allows. Nothing differs
// without a field that differs, and its values.
//
// Pure: the same object and inventory give the same answer.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "policy/node_state/node_state.h"

namespace sliced::policy {

/// kExempt: the field does not apply, or nobody can tell and nothing is wrong with that (an interface in a pod).
/// kUnknown: it applies, and could not be read.
enum class DriftIs { kSame, kExempt, kDiffers, kUnknown };

/// The result of comparing one field: everything but kSame.
struct DriftFinding {
  DriftIs is = DriftIs::kSame;
  std::string_view field;     // "numVfs": a literal of the table
  std::optional<int> vf;      // nullopt: of the PF itself
  std::string device;         // the function's address
  std::string wanted, found;  // kDiffers alone
  std::string why;            // of the others; foreign text in it is escaped
  std::string reported;       // kDiffers: what the object's own status says, where it says anything
  bool is_by_word = false;    // of what the PF enforces of a VF
  bool operator==(const DriftFinding&) const = default;
};

/// "adminMac of VF 2 is 00:00:00:00:00:00, wanted a MAC"
std::string text_of(const DriftFinding& finding);

/// One of spec.interfaces. Its VFs are those that some group speaks of.
struct InterfaceDrift {
  std::string pci, name;  // name: the interface's now, or else the one in the object
  bool externally_managed = false;
  size_t vfs = 0;                      // that were judged
  std::vector<DriftFinding> findings;  // the PF's, then by VF; in the order of the table
  bool asks_word = false;              // some rule reads what the PF enforces of a VF
  Problems problems;                   // of the object; not empty: not judged
  bool operator==(const InterfaceDrift&) const = default;

  bool differs() const;
  /// Everything that applies was read, and is as it is wanted.
  bool is_in_sync() const;
  /// That is the PF's own word: some rule asks it, and nothing but what it tells is missing.
  bool is_by_word() const;
};

struct DriftRequest {
  const SriovNodeState& state;
  const hotplug::Inventory& host;
  /// Whether a pod has the function: its own MAC is then the pod's affair. Optional.
  std::function<bool(const hotplug::HostDevice&)> is_prepared = {};
};
/// In the order of spec.interfaces.
std::vector<InterfaceDrift> judge_drift(const DriftRequest& request);
/// One of them.
InterfaceDrift judge_interface(const DriftRequest& request, const SriovNodeState::Wanted& wanted);

}  // namespace sliced::policy
