#include "daemon/reports/reported_event.h"

#include <algorithm>
#include <utility>

#include "policy/verdict.h"
#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::reports {
namespace {

constexpr size_t kDevicesNamed = 3;

std::string count_of(size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// "VFs 0-3,7 of ens1f0", "0000:3b:00.0", "br0"
std::string name_of_group(const DeviceGroup& group) {
  if (!group.vfs.empty())
    return "VF" + std::string(device_count(group) == 1 ? " " : "s ") + text_of(group.vfs) + " of " +
           (group.pf_name.empty() ? group.pf : group.pf_name);
  return group.pci_address.empty() ? group.interface : group.pci_address;
}

bool is(const PolicyVerdict& verdict, policy::Outcome outcome) {
  return verdict.outcome == policy::name_of(outcome);
}

// Verdicts on groups, by policy and outcome: number of devices, the first names, and the reason.
struct VerdictSum {
  size_t devices = 0, groups = 0;
  std::string names, why;
  void add(const DeviceGroup& group, const PolicyVerdict& verdict, size_t count) {
    devices += count;
    if (++groups <= kDevicesNamed) names += (names.empty() ? "" : "; ") + name_of_group(group);
    if (why.empty()) why = verdict.why;
  }
  std::string note(std::string_view what) const {
    return count_of(devices, "device") + " (" + names + (groups > kDevicesNamed ? "; ..." : "") + ") " +
           std::string(what) + (why.empty() ? "" : ": " + why);
  }
};

// Many conditions of one reason must not displace those of others.
void add(ReportedEvents& out, ReportedEvent one) {
  const auto alike = std::ranges::count(out, one.reason, &ReportedEvent::reason);
  if (static_cast<size_t>(alike) < ReportedEventFinder::kOfOneReasonMax) out.push_back(std::move(one));
}

}  // namespace

ReportedEvents ReportedEventFinder::look(const NodeReport& report, const WithdrawnInUse& in_use,
                                         TimePoint now) {
  ReportedEvents out;
  for (const PolicyReport& policy : report.policies)
    if (!policy.problem.empty())
      add(out, {"PolicyNotUsedAsWritten", policy.policy, "generation " + std::to_string(policy.generation),
                policy.problem +
                    (policy.more_problems == 0 ? "" : "; " + and_more(policy.more_problems, "problem")),
                /*is_of_fleet=*/true});
  std::map<PolicyRef, VerdictSum> refused, contested;
  std::map<PolicyRef, std::string> rivals;  // the first of each
  for (const DeviceGroup& group : report.groups)
    for (const PolicyVerdict& verdict : group.verdicts) {
      if (is(verdict, policy::Outcome::kRefused))
        refused[verdict.policy].add(group, verdict, device_count(group));
      if (is(verdict, policy::Outcome::kConflict))
        contested[verdict.policy].add(group, verdict, device_count(group));
      if (!is(verdict, policy::Outcome::kConflict)) continue;
      for (const PolicyVerdict& other : group.verdicts)
        if (is(other, policy::Outcome::kOffered) && other.policy.kind != verdict.policy.kind)
          rivals.emplace(verdict.policy,
                         other.policy.kind + " " +
                             (other.policy.namespace_.empty() ? "" : other.policy.namespace_ + "/") +
                             other.policy.name);
    }
  for (const auto& [policy, sum] : refused)
    add(out, {"EntryRefused", policy, "",
              sum.note("not published: the API server refuses or would refuse the entries")});
  for (auto& [policy, sum] : contested) {
    sum.why.clear();  // it repeats the note
    const auto rival = rivals.find(policy);
    add(out,
        {"PoliciesContradict", policy, "",
         sum.note(
             "not offered by this policy: " +
             (rival == rivals.end() ? "a SriovResourcePolicy" : rival->second) +
             " offers the same functions, or VFs of them; select them in only one of the two policies, because only "
             "one driver can offer a function"),
         /*is_of_fleet=*/true});
  }
  for (const auto& [device, how] : in_use)
    add(out, {"DeviceWithdrawnInUse",
              {},
              device,
              device + " is no longer offered but still allocated: " + how +
                  "; delete the pod, or let a policy offer the device again"});
  find_held_back(report, now, out);
  return out;
}

void ReportedEventFinder::find_held_back(const NodeReport& report, TimePoint now, ReportedEvents& out) {
  const std::string held_back = "held-back";
  std::map<DeviceKey, TimePoint> since;
  std::map<std::pair<PolicyRef, std::string>, VerdictSum> sums;
  for (const DeviceGroup& group : report.groups) {
    if (group.disposition != held_back) continue;
    for (const PolicyVerdict& verdict : group.verdicts) {
      if (verdict.policy.kind.empty()) continue;
      size_t long_enough = 0;
      for (const hotplug::HostDevice& device : devices_of(group)) {
        DeviceKey key{verdict.policy, verdict.outcome, device.id.text};
        const auto before = held_since_.find(key);
        const TimePoint at = before == held_since_.end() ? now : before->second;
        long_enough += now - at >= kHeldBackFor ? 1 : 0;
        since.emplace(std::move(key), at);
      }
      if (long_enough > 0) sums[{verdict.policy, verdict.outcome}].add(group, verdict, long_enough);
    }
  }
  held_since_ = std::move(since);
  for (const auto& [key, one] : sums)
    add(out, {"DevicesHeldBack", key.first, key.second,
              one.note("held back for at least 5 minutes, " + key.second)});
}

}  // namespace sliced::reports
