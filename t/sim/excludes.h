#pragma once
// DeviceExposurePolicies of action exclude, as generated, and an independent answer of each for a device.
// Some read the name of an interface, which may be unknown while it is in a pod. Some are invalid.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "t/sim/exposure.h"
#include "t/sim/machine.h"
#include "t/sim/oracle.h"

namespace sliced::sim {

struct Exclude {
  enum class Asks { kVendor, kPciAddress, kDriver, kVfIndex, kPfPciAddress, kPfName, kIfName };
  /// Why it is invalid: an unknown field, a selector that does not compile, an unknown action, a misspelled
  /// field name of the action.
  enum class Flaw { kNone, kField, kSelector, kAction, kActionsName };
  std::string name;
  Asks asks = Asks::kPciAddress;
  std::string value;
  bool is_negated = false;  // != in the place of ==
  Labels nodes;             // matchLabels; empty: every node
  Flaw flaw = Flaw::kNone;
  /// Its earlier valid contents, the newest last, starting with the one that the running daemon has read for
  /// certain, if any. While it is invalid, one of these stays in effect: the last that the daemon read.
  std::vector<std::shared_ptr<const Exclude>> former;
  bool is_seen = false;  // the daemon that runs has seen it (with a flaw: the first of `former`) for sure
  /// It takes the place of that one.
  void follow(const Exclude& last, bool is_seen_of_it);
  bool operator==(const Exclude&) const = default;
};
using Excludes = std::map<std::string, Exclude>;  // by name

kube::Json object_of(const Exclude& exclude);

/// What an exclude may ask about, beside names. Of a function whose driver makes interfaces a missing name is
/// unknown.
struct Asked {
  std::string vendor, address, driver, pf;
  int index = -1;
  bool is_vf = false;
};
Asked asked_of(const VfFacts& vf, const std::string& address);
Asked asked_of(const DeviceFacts& device);

enum class Said { kNo, kUnknown, kYes };
/// pf_name, if_name: "" if absent or unknown.
Said said_by(const Exclude& exclude, const Asked& device, const std::string& pf_name,
             const std::string& if_name, const Labels& node);
/// The gravest word of all.
Said said_by(const Excludes& excludes, const Asked& device, const std::string& pf_name,
             const std::string& if_name, const Labels& node);
/// The same, with all possible answers of invalid excludes.
std::set<Said> may_be_said_by(const Excludes& excludes, const Asked& device, const std::string& pf_name,
                              const std::string& if_name, const Labels& node);

/// Returns a set with "", the unknown name, if `names` is empty.
const std::set<std::string>& or_none(const std::set<std::string>& names);

}  // namespace sliced::sim
