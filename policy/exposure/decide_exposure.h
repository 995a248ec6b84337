#pragma once
// From what the policies say of each device to pools of entries: what the host uses, what the other driver
// has, what excludes each other.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "policy/decide.h"
#include "policy/exposure/resolve.h"

namespace sliced::policy {

/// One decision's worth of DeviceExposurePolicies.
class ExposureDecision {
 public:
  /// Evaluates every selector for every device. When stop is requested, it is of no use.
  ExposureDecision(const Inputs& inputs, const std::stop_token& stop);

  /// In the inventory's order.
  const std::vector<Resolution>& resolutions() const { return resolutions_; }
  /// The first exclude that cannot be understood and may mean this node; -1 none. While there is one nothing
  /// is offered that is not published already.
  int32_t unreadable_exclude() const { return unreadable_; }

  const SelectorAnswersPtr& selectors() const { return selectors_; }
  /// For DesiredPool::excludes.
  const std::string& exclude_record() const { return exclude_record_; }

  /// An entry of this driver that excludes the VF as the other driver's may be allocated.
  bool may_be_allocated(const hotplug::HostDevice& vf) const;
  /// Such an entry may have been given away by a policy that is no more, and nobody has looked.
  bool awaits_pods(const hotplug::HostDevice& vf) const;

  /// Adds personas, pools, problems and notes. sriov_taken: host devices that the other kind offers, or will
  /// when they are shown free.
  void decide(const std::set<std::string>& sriov_taken, Decision& out) const;

 private:
  void note_doubt();
  void note_unknown();

  const Inputs& inputs_;
  std::vector<Resolution> resolutions_;
  std::string exclude_record_;
  SelectorAnswersPtr selectors_;
  std::map<std::string_view, bool> held_devices_;  // that may be allocated; whether an exclusive entry is
  std::set<std::string> doubted_pools_;            // that these policies want something of
  int32_t unreadable_ = -1;
  std::map<int32_t, Problem> problems_;  // by policy
  std::vector<std::string> notes_;
};

/// "<node>/<PF's address dashed>" for a PF and its VFs, "<node>/net" for all others. Where that exceeds the
/// 253 bytes of a pool name, the node's part is cut and ends in a hash of the whole: the same at any time.
std::string exposure_pool_name(const std::string& node, const hotplug::HostDevice& device);

}  // namespace sliced::policy
