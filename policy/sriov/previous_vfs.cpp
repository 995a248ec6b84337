#include "policy/sriov/previous_vfs.h"

#include "policy/gates/published_before.h"
#include "policy/sriov/match.h"

namespace sliced::policy {

PreviousVfs::PreviousVfs(const Inputs& inputs, const std::vector<int32_t>& asked, SriovEntries& entries)
    : in_(inputs), asked_(asked), entries_(entries) {}

Verdict PreviousVfs::keep_previous(const hotplug::HostDevice& vf, const std::string& name,
                                   const Verdict& unknown) {
  const auto stands = stands_as(name);
  if (!stands) return unknown;
  std::vector<Verdict> may_have_it;
  walk(vf, *in_.policies, asked_, unknown_facts(vf, *in_.inventory), [&](const Step& step) {
    if (!step.unreadable && (step.is_unknown || !step.refusal))
      may_have_it.push_back({Outcome::kOffered, step.policy, step.config, step.filter});
  });
  for (const Verdict& one : may_have_it) {
    if (!are_same_up_to(one.policy)) break;
    if (entries_.resource_of(one) == *stands) return one;
  }
  return unknown;
}

// Reads the previous decision; in the first decision, the slices.
std::optional<std::string> PreviousVfs::stands_as(const std::string& name) const {
  if (!in_.before_at) {
    const auto at = in_.published.resources.find(name);
    return at == in_.published.resources.end() ? std::nullopt : std::optional(at->second);
  }
  const kube::Device* before = entry_before(in_, in_.node.name, name);
  if (before == nullptr) return std::nullopt;
  return published_resource(before->attributes, in_.settings.sriov_driver);
}

// Returns true if this policy and the preceding ones are unchanged since the previous decision. The policies
// of the previous process are unknown, so its entries count as unchanged.
bool PreviousVfs::are_same_up_to(int32_t policy) {
  if (!in_.before_at) return true;
  if (!same_) same_ = count_same();
  return *same_ == asked_.size() || policy < asked_[*same_];
}

size_t PreviousVfs::count_same() const {
  const auto& before = in_.asked_before;
  size_t same = 0;
  while (same < asked_.size() && same < before.size()) {
    const Shared<SriovPolicy>& now = in_.policies->sriov[static_cast<size_t>(asked_[same])];
    if (!is_same(now, before[same]) && !has_same_content(now, before[same])) break;
    ++same;
  }
  return same;
}

}  // namespace sliced::policy
