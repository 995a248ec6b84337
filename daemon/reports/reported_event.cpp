#include "daemon/reports/reported_event.h"

#include <algorithm>
#include <utility>

#include "policy/verdict.h"
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

bool is(const Said& said, policy::Outcome outcome) { return said.outcome == policy::name_of(outcome); }

// Verdicts on groups, by policy and outcome: number of devices, the first names, and the reason.
struct Told {
  size_t devices = 0, groups = 0;
  std::string names, why;
  void add(const DeviceGroup& group, const Said& said, size_t count) {
    devices += count;
    if (++groups <= kDevicesNamed) names += (names.empty() ? "" : "; ") + name_of_group(group);
    if (why.empty()) why = said.why;
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
      add(out,
          {"PolicyNotUsedAsWritten", policy.policy, "generation " + std::to_string(policy.generation),
           policy.problem +
               (policy.more_problems == 0 ? "" : "; and " + std::to_string(policy.more_problems) + " more"),
           /*is_of_fleet=*/true});
  std::map<PolicyRef, Told> refused, contested;
  std::map<PolicyRef, std::string> rivals;  // the first of each
  for (const DeviceGroup& group : report.groups)
    for (const Said& said : group.said) {
      if (is(said, policy::Outcome::kRefused)) refused[said.policy].add(group, said, device_count(group));
      if (is(said, policy::Outcome::kConflict)) contested[said.policy].add(group, said, device_count(group));
      if (!is(said, policy::Outcome::kConflict)) continue;
      for (const Said& other : group.said)
        if (is(other, policy::Outcome::kOffered) && other.policy.kind != said.policy.kind)
          rivals.emplace(said.policy,
                         other.policy.kind + " " +
                             (other.policy.namespace_.empty() ? "" : other.policy.namespace_ + "/") +
                             other.policy.name);
    }
  for (const auto& [policy, told] : refused)
    add(out, {"EntryRefused", policy, "", told.note("would be refused by the API server, or were")});
  for (auto& [policy, told] : contested) {
    told.why.clear();  // the same in other words
    const auto rival = rivals.find(policy);
    add(out,
        {"PoliciesContradict", policy, "",
         told.note(
             std::string(told.devices == 1 ? "is" : "are") + " offered by " +
             (rival == rivals.end() ? "a SriovResourcePolicy" : rival->second) +
             ", whole or in part: one function is offered by one driver; select them in only one of the two policies"),
         /*is_of_fleet=*/true});
  }
  for (const auto& [device, how] : in_use)
    add(out, {"DeviceWithdrawnInUse",
              {},
              device,
              device + " is no longer offered but still in use: " + how +
                  "; delete its pod, or have a policy offer the device again"});
  find_held_back(report, now, out);
  return out;
}

void ReportedEventFinder::find_held_back(const NodeReport& report, TimePoint now, ReportedEvents& out) {
  const std::string held_back = "held-back";
  std::map<DeviceKey, TimePoint> since;
  std::map<std::pair<PolicyRef, std::string>, Told> told;
  for (const DeviceGroup& group : report.groups) {
    if (group.disposition != held_back) continue;
    for (const Said& said : group.said) {
      if (said.policy.kind.empty()) continue;
      size_t long_enough = 0;
      for (const hotplug::HostDevice& device : devices_of(group)) {
        DeviceKey key{said.policy, said.outcome, device.id.text};
        const auto before = held_since_.find(key);
        const TimePoint at = before == held_since_.end() ? now : before->second;
        long_enough += now - at >= kHeldBackFor ? 1 : 0;
        since.emplace(std::move(key), at);
      }
      if (long_enough > 0) told[{said.policy, said.outcome}].add(group, said, long_enough);
    }
  }
  held_since_ = std::move(since);
  for (const auto& [key, one] : told)
    add(out, {"DevicesHeldBack", key.first, key.second,
              one.note("held back for 5 minutes or longer, " + key.second)});
}

}  // namespace sliced::reports
