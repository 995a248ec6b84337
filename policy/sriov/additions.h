#pragma once
// What a config of a SriovResourcePolicy adds to each of its entries: its resourceName, and what it selects of
// DeviceAttributes.
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "policy/inputs.h"
#include "policy/notes.h"
#include "policy/sriov/attributes.h"
#include "policy/verdict.h"

namespace sliced::policy {

/// resourceName of the config goes before one of DeviceAttributes; of several objects that give one key the last by name.
struct Additions {
  kube::Attributes attributes;
  std::string refusal;    // not empty: the entries are held back, and why
  bool is_valid = false;  // the API server takes each of the attributes
};

/// Those of one set of policies, each config's joined once.
class ConfigAdditions {
 public:
  /// Of the inputs: the policies, the driver, and whether the server takes list attributes. own: the VFs' own attributes,
  /// for which room is kept. notes: what is left out, and why. All outlive this.
  ConfigAdditions(const Inputs& inputs, const VfAttributes& own, Notes& notes);
  /// verdict: which policy and config take a VF. Joined when it is first asked for; valid as long as this.
  const Additions& of(const Verdict& verdict);
  /// published_resource() of what that config offers.
  std::string resource_of(const Verdict& verdict) {
    return published_resource(of(verdict).attributes, in_.settings.sriov_driver);
  }
  /// The attributes by which claims of dra-driver-sriov's users select: without them an entry would be another.
  bool names_resource(const std::string& key) const;

 private:
  Additions join(const SriovPolicy& policy, const ResourceConfig& config);
  // List attributes only where the server takes them, with a note.
  void join_objects(const SriovPolicy& policy, const ResourceConfig& config, Additions& out);
  // From the end of the alphabet; never the VF's own attributes, nor resourceName.
  void make_room(const SriovPolicy& policy, Additions& out);

  const Inputs& in_;
  const VfAttributes& own_;
  Notes& notes_;
  const std::string resource_name_key_;
  std::map<std::pair<int32_t, int32_t>, Additions> joined_;  // by policy and config
};

}  // namespace sliced::policy
