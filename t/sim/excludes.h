#pragma once
// DeviceExposurePolicies of action exclude, as they were generated, and a second opinion on what each says of
// a VF. Some ask for the name of an interface: that of one that is in a pod may be unknown.
#include <map>
#include <string>

#include "kube/json.h"
#include "t/sim/machine.h"
#include "t/sim/oracle.h"

namespace sliced::sim {

struct Exclude {
  enum class Asks { kVendor, kPciAddress, kDriver, kVfIndex, kPfPciAddress, kPfName, kIfName };
  std::string name;
  Asks asks = Asks::kPciAddress;
  std::string value;
  bool is_negated = false;  // != in the place of ==
  Labels nodes;             // matchLabels; empty: every node
  bool operator==(const Exclude&) const = default;
};
using Excludes = std::map<std::string, Exclude>;  // by name

kube::Json object_of(const Exclude& exclude);

enum class Said { kNo, kUnknown, kYes };
/// pf_name, if_name: "" where there is none, or where it is not known.
Said said_by(const Exclude& exclude, const VfFacts& vf, const std::string& vf_address,
             const std::string& pf_name, const std::string& if_name, const Labels& node);
/// The gravest word of all.
Said said_by(const Excludes& excludes, const VfFacts& vf, const std::string& vf_address,
             const std::string& pf_name, const std::string& if_name, const Labels& node);

}  // namespace sliced::sim
