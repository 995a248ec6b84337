#pragma once
// DeviceExposurePolicies of action exclude, as they were generated, and a second opinion on what each says of
// a device. Some ask for the name of an interface: that of one that is in a pod may be unknown. Some cannot
// be understood.
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
  /// Why it cannot be understood: a field that nobody knows, a selector that does not compile, no action that
  /// there is, an action under a misspelt name.
  enum class Flaw { kNone, kField, kSelector, kAction, kActionsName };
  std::string name;
  Asks asks = Asks::kPciAddress;
  std::string value;
  bool is_negated = false;  // != in the place of ==
  Labels nodes;             // matchLabels; empty: every node
  Flaw flaw = Flaw::kNone;
  /// What could be understood of it before, the newest last: from what the daemon that runs has seen for sure on, if
  /// there is that. Of one that cannot be understood, one of these goes on: what that daemon has seen last.
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
/// pf_name, if_name: "" where there is none, or where it is not known.
Said said_by(const Exclude& exclude, const Asked& device, const std::string& pf_name,
             const std::string& if_name, const Labels& node);
/// The gravest word of all.
Said said_by(const Excludes& excludes, const Asked& device, const std::string& pf_name,
             const std::string& if_name, const Labels& node);
/// The same, with whatever those say that cannot be understood.
std::set<Said> may_be_said_by(const Excludes& excludes, const Asked& device, const std::string& pf_name,
                              const std::string& if_name, const Labels& node);

/// Where nothing is known, what is unknown.
const std::set<std::string>& or_none(const std::set<std::string>& names);

}  // namespace sliced::sim
