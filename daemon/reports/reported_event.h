#pragma once
// Reportable conditions of a node's report, as values. Pure, except for the memory of held-back times.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/reports/node_report.h"
#include "reactor/base/time.h"

namespace sliced::reports {

/// Kind of a subject that is a pod.
inline constexpr const char* kPodKind = "Pod";

/// A current condition. Two of a node are equal if reason, policy and what are equal. Reasons:
/// PolicyNotUsedAsWritten, EntryRefused, PoliciesContradict, DeviceWithdrawnInUse, DevicesHeldBack,
/// ConfigurationIgnored.
struct ReportedEvent {
  std::string reason;  // "PolicyNotUsedAsWritten"; an interface (docs/reports.md)
  PolicyRef policy;    // its subject; kind "": the Node; kPodKind: a pod of the node
  std::string what;    // distinguishes several conditions of one policy, such as a verdict or a generation
  std::string note;    // for people
  /// It follows from the policies alone, so that every node of a fleet finds the same condition.
  bool is_of_fleet = false;
  auto key() const { return std::tie(reason, policy, what); }
};
using ReportedEvents = std::vector<ReportedEvent>;

/// Devices of claims that are no longer offered, by name, with cause and holder: "DeviceExposurePolicy x
/// (generation 2) excludes it; claim ns/name (pod a) has it".
using WithdrawnInUse = std::map<std::string, std::string>;

/// Order: policies with problems, refused entries, policies of both kinds for one device, devices that were
/// withdrawn while in use, devices that are held back for kHeldBackFor.
/// Memory: the start time for each held-back device and each policy that matches it; dropped with the first
/// report without it. A new process starts at its first report.
/// Threads: one.
class ReportedEventFinder {
 public:
  static constexpr Millis kHeldBackFor{300'000};
  static constexpr size_t kOfOneReasonMax = 25;  // at one time; the first ones are kept

  /// Returns the current conditions. report: before fit(). Linear in its held-back devices.
  ReportedEvents look(const NodeReport& report, const WithdrawnInUse& in_use, TimePoint now);

 private:
  using DeviceKey = std::tuple<PolicyRef, std::string, std::string>;  // policy, outcome, device
  void find_held_back(const NodeReport& report, TimePoint now, ReportedEvents& out);

  std::map<DeviceKey, TimePoint> held_since_;
};

}  // namespace sliced::reports
