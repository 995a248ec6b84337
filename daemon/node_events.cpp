#include "daemon/node_events.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/reports/fill_report.h"
#include "kube/objects/kinds.h"
#include "kubelet/recall.h"
#include "policy/identity.h"
#include "policy/offer_change.h"
#include "policy/summary.h"

namespace sliced::daemon {
namespace {

constexpr Millis kEventsEvery{60'000}, kFirst{5'000}, kSpread{55'000}, kLookingMax{10'000};

template <class Policies>
std::string uid_in(const Policies& policies, const auto& id) {
  const auto at = std::ranges::find_if(policies, [&](const auto& one) { return one->id == id; });
  return at == policies.end() ? "" : (*at)->uid;
}

// "policy ns/name" of the log is the SriovResourcePolicy of that name.
std::string policy_in(const policy::OfferChange& change) {
  constexpr std::string_view kLogged = "policy ";
  return change.policy.starts_with(kLogged)
             ? kube::kSriovResourcePolicies.kind + " " + change.policy.substr(kLogged.size())
             : change.policy;
}

// Returns nullopt if the policy no longer exists.
std::optional<int64_t> generation_of(const policy::PolicySet& set, const std::string& policy) {
  for (const auto& one : set.sriov)
    if (policy == kube::kSriovResourcePolicies.kind + " " + text_of(one->id)) return one->generation;
  for (const auto& one : set.exposures)
    if (policy == kube::kDeviceExposurePolicies.kind + " " + text_of(one->id)) return one->generation;
  return std::nullopt;
}

// Returns true if one of the change's entries is for the device.
bool has_entry_of(const policy::OfferChange& change, const std::string& device) {
  std::string dashed = device;
  std::ranges::replace_if(dashed, [](char c) { return c == ':' || c == '.'; }, '-');
  const auto function = policy::function_named_by(dashed);
  const bool is_function = function && policy::function_name(*function) == dashed;
  return std::ranges::any_of(change.devices, [&](const std::string& entry) {
    return is_function ? policy::function_named_by(entry) == function
                       : entry == device || entry.starts_with(device + "-");
  });
}

// An exclude and a gate withdraw devices that they did not offer.
bool names_former_policy(const policy::OfferChange& change) {
  using policy::Outcome;
  if (change.kind != policy::OfferChange::Kind::kWithdrawn) return true;
  return change.outcome.empty() || change.outcome == name_of(Outcome::kNoMatch) ||
         change.outcome == name_of(Outcome::kNoPolicy) || change.outcome == name_of(Outcome::kNotAVf);
}

std::string with_generation(const std::string& policy, int64_t generation) {
  return policy + (generation > 0 ? " (generation " + std::to_string(generation) + ")" : "");
}

// Returns the policy that offered a device last, for a device without a current policy.
std::string former_cause(const policy::Decision& decision, const std::string& device,
                         const std::vector<status::PastChangePtr>& past) {
  for (auto at = past.rbegin(); at != past.rend(); ++at) {
    const policy::OfferChange& change = (*at)->change;
    if (change.policy.empty() || !names_former_policy(change) || !has_entry_of(change, device)) continue;
    const std::string policy = policy_in(change);
    const auto generation = generation_of(*decision.inputs->policies, policy);
    return generation ? with_generation(policy, *generation) + " no longer selects it"
                      : policy + " was deleted";
  }
  return "no policy selects it";
}

std::string cause_of(const policy::Decision& decision, const std::string& device,
                     const std::vector<status::PastChangePtr>& past) {
  using policy::Outcome;
  const policy::Withdrawer by = policy::withdrawer_of(decision, device);
  if (!by.is_on_host) return "it is no longer on the host";
  if (by.policy.empty()) return former_cause(decision, device, past);
  const std::string policy = with_generation(by.policy, by.generation), what(describe(by.outcome));
  const bool is_subject = by.outcome == Outcome::kExcluded || by.outcome == Outcome::kExcludeUnreadable ||
                          by.outcome == Outcome::kExcludeUnknown || by.outcome == Outcome::kMatchUnknown ||
                          by.outcome == Outcome::kExposeUnknown || by.outcome == Outcome::kNoMatch ||
                          by.outcome == Outcome::kNotAVf || by.outcome == Outcome::kNoPolicy;
  return is_subject ? policy + " " + what : policy + " selects it, but " + what;
}

std::string holder_text(const ClaimWithPods& holder) {
  constexpr size_t kPodsNamed = 3;
  if (holder.claim.empty()) return "a claim holds it (kubectl sliced devices --on NODE shows which)";
  std::string out = "claim " + holder.claim;
  for (size_t i = 0; i < std::min(kPodsNamed, holder.pods.size()); ++i)
    out += (i == 0 ? " (pod " : ", pod ") + holder.pods[i];
  if (holder.pods.size() > kPodsNamed)
    out += " and " + std::to_string(holder.pods.size() - kPodsNamed) + " more";
  return out + (holder.pods.empty() ? " holds it" : ") holds it");
}

}  // namespace

ClaimsByDevice claims_by_device(const kubelet::PreparedClaims& claims) {
  ClaimsByDevice out;
  for (const auto& [key, claim] : claims)
    for (const kubelet::PreparedDevice& device : claim.devices) {
      ClaimWithPods& holder = out[device.pci.empty() ? device.interface : device.pci];
      const std::string name = kubelet::short_name(claim);
      if (holder.claim.find(name) == std::string::npos)
        holder.claim += (holder.claim.empty() ? "" : ", ") + name;
      for (const kubelet::ReservingPod& pod : claim.pods)
        if (std::ranges::find(holder.pods, pod.name) == holder.pods.end()) holder.pods.push_back(pod.name);
    }
  return out;
}

std::vector<PodWithIgnored> pods_with_ignored(
    const std::map<kubelet::PreparedKey, kubelet::ClaimWithIgnored>& claims) {
  constexpr size_t kPodsMax = 4;
  std::vector<PodWithIgnored> out;
  for (const auto& [key, claim] : claims)
    for (size_t i = 0; i < std::min(kPodsMax, claim.pods.size()); ++i)
      for (const std::string& one : claim.ignored)
        out.push_back({claim.namespace_, claim.pods[i].name, claim.pods[i].uid,
                       "ResourceClaim " + claim.namespace_ + "/" + claim.name + ": " + one});
  return out;
}

reports::WithdrawnInUse withdrawn_in_use(const policy::Decision& decision, const ClaimsByDevice& allocated,
                                         const std::vector<status::PastChangePtr>& past) {
  reports::WithdrawnInUse out;
  for (const auto& [device, holder] : allocated) {
    if (device.empty()) continue;
    if (decision.verdicts.contains(device) &&
        policy::disposition_of(decision, device) == policy::Disposition::kOffered)
      continue;
    // Its claim is deleted, so no pod is affected.
    if (policy::withdrawer_of(decision, device).outcome == policy::Outcome::kNotReturned) continue;
    out[device] = cause_of(decision, device, past) + "; " + holder_text(holder);
  }
  return out;
}

NodeEvents::NodeEvents(Dependencies deps)
    : deps_(std::move(deps)),
      writer_(deps_.ports, {.node = deps_.node,
                            .node_uid = [this] { return deps_.daemon.owner_uid(); },
                            .object_uid = [this](const auto& subject) { return object_uid(subject); },
                            .now = deps_.now}) {}

void NodeEvents::on_decided() {
  if (std::exchange(is_soon_, true)) return;
  const auto spread = static_cast<double>(kSpread.count()) * deps_.ports.random();
  timer_ = deps_.ports.scheduler.after(kFirst + Millis{static_cast<int64_t>(spread)}, [this] { look(); });
}

void NodeEvents::look_later() {
  timer_ = deps_.ports.scheduler.after(kEventsEvery, [this] { look(); });
}

void NodeEvents::look() {
  is_soon_ = false;
  look_later();
  if (job_ || deps_.daemon.decision() == nullptr || deps_.daemon.owner_uid().empty()) return;
  struct Seen {
    reports::NodeReport report;
    reports::WithdrawnInUse in_use;
  };
  auto seen = std::make_shared<Seen>();
  job_ = deps_.executor.run(
      [seen, decision = deps_.daemon.shared_decision(), allocated = deps_.allocated(), past = deps_.past()] {
        fill_report(*decision, seen->report);
        seen->in_use = withdrawn_in_use(*decision, allocated, past);
      },
      kLookingMax,
      [this, seen](bool finished) {
        const auto over = std::move(job_);
        if (!finished) return;
        auto found = finder_.look(seen->report, seen->in_use, deps_.ports.scheduler.now());
        ignored_ = deps_.ignored();
        for (const PodWithIgnored& pod : ignored_)
          found.push_back({"ConfigurationIgnored",
                           {reports::kPodKind, pod.namespace_, pod.name},
                           pod.uid + " " + pod.note,
                           pod.note});
        writer_.look(found);
      });
}

std::string NodeEvents::object_uid(const reports::PolicyRef& policy) const {
  if (policy.kind == reports::kPodKind) {
    const auto at = std::ranges::find_if(ignored_, [&](const PodWithIgnored& pod) {
      return pod.namespace_ == policy.namespace_ && pod.name == policy.name;
    });
    return at == ignored_.end() ? "" : at->uid;
  }
  if (deps_.daemon.decision() == nullptr) return "";
  const policy::PolicySet& set = *deps_.daemon.decision()->inputs->policies;
  if (policy.kind == kube::kSriovResourcePolicies.kind)
    return uid_in(set.sriov, policy::SriovPolicy::Id{policy.namespace_, policy.name});
  return uid_in(set.exposures, policy::ExposurePolicy::Id{policy.name});
}

}  // namespace sliced::daemon
