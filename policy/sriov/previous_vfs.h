#pragma once
// Who goes on having a VF of which it is unknown which config takes it (docs/design/unknown-facts.md): what stands in a
// slice of this boot keeps its verdict while the policies say the same. What does not stand is not offered.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/inputs.h"
#include "policy/sriov/entries.h"
#include "policy/verdict.h"

namespace sliced::policy {

/// One decision's worth.
class PreviousVfs {
 public:
  /// asked: indices of the policies that are asked, in order. All outlive this.
  PreviousVfs(const Inputs& inputs, const std::vector<int32_t>& asked, SriovEntries& entries);
  /// unknown: of outcome kMatchUnknown. kOffered where an entry of the VF stands, and one of the configs that may have
  /// it offers it under the resourceName under which it stands; else `unknown`.
  Verdict keep_previous(const hotplug::HostDevice& vf, const std::string& name, const Verdict& unknown);

 private:
  // nullopt: it does not stand.
  std::optional<std::string> stands_as(const std::string& name) const;
  bool are_same_up_to(int32_t policy);
  // Of those that are asked, from the first on.
  size_t count_same() const;

  const Inputs& in_;
  const std::vector<int32_t>& asked_;
  SriovEntries& entries_;
  std::optional<size_t> same_;  // count_same(), once somebody asks
};

}  // namespace sliced::policy
