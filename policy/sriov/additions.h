#pragma once
// The attributes that a config of a SriovResourcePolicy adds to its entries: its resourceName, and those of
// the selected DeviceAttributes.
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "policy/inputs.h"
#include "policy/notes.h"
#include "policy/sriov/attributes.h"
#include "policy/verdict.h"

namespace sliced::policy {

/// resourceName of the config overrides that of DeviceAttributes. If several objects set a key, the last by
/// name has precedence.
struct Additions {
  kube::Attributes attributes;
  std::string refusal;    // not empty: the reason to withhold the entries
  bool is_valid = false;  // the API server accepts each attribute
};

/// The additions of a set of policies, computed once for each config.
class ConfigAdditions {
 public:
  /// Reads policies, driver and support of list attributes from the inputs. own: the VFs' own attributes, for
  /// which room is reserved. notes: attributes that are left out, with reasons. Requires: all arguments
  /// outlive this object.
  ConfigAdditions(const Inputs& inputs, const VfAttributes& own, Notes& notes);
  /// verdict: the policy and config of a VF. Computed on first use; valid as long as this object.
  const Additions& of(const Verdict& verdict);
  /// Returns published_resource() of the config.
  std::string resource_of(const Verdict& verdict) {
    return published_resource(of(verdict).attributes, in_.settings.sriov_driver);
  }
  /// Returns true for the attributes by which users of dra-driver-sriov select: without them an entry would
  /// be a different one.
  bool names_resource(const std::string& key) const;

 private:
  Additions join(const SriovPolicy& policy, const ResourceConfig& config);
  // Adds list attributes only if the server accepts them; otherwise with a note.
  void join_objects(const SriovPolicy& policy, const ResourceConfig& config, Additions& out);
  // Drops attributes from the end of the alphabet; never the VF's own attributes or resourceName.
  void make_room(const SriovPolicy& policy, Additions& out);

  const Inputs& in_;
  const VfAttributes& own_;
  Notes& notes_;
  const std::string resource_name_key_;
  std::map<std::pair<int32_t, int32_t>, Additions> joined_;  // by policy and config
};

}  // namespace sliced::policy
