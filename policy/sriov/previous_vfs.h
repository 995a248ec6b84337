#pragma once
// Keeps the verdict of a VF while it is unknown which config matches it (docs/design/unknown-facts.md): an
// entry in a slice of this boot stays while the policies are unchanged. Other VFs are not offered.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/inputs.h"
#include "policy/sriov/entries.h"
#include "policy/verdict.h"

namespace sliced::policy {

/// For one decision.
class PreviousVfs {
 public:
  /// asked: indices of the evaluated policies, in order. Requires: all arguments outlive this object.
  PreviousVfs(const Inputs& inputs, const std::vector<int32_t>& asked, SriovEntries& entries);
  /// unknown: a verdict kMatchUnknown. Returns kOffered if the VF is published, and a config that may match
  /// it offers it under its published resourceName; otherwise `unknown`.
  Verdict keep_previous(const hotplug::HostDevice& vf, const std::string& name, const Verdict& unknown);

 private:
  // Returns the published resourceName; nullopt if it is not published.
  std::optional<std::string> stands_as(const std::string& name) const;
  bool are_same_up_to(int32_t policy);
  // Returns the number of evaluated policies that are unchanged, from the first one.
  size_t count_same() const;

  const Inputs& in_;
  const std::vector<int32_t>& asked_;
  SriovEntries& entries_;
  std::optional<size_t> same_;  // count_same(), after the first use
};

}  // namespace sliced::policy
