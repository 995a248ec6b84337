#pragma once
// What of a node's report is worth an event: values, before anybody is told. Pure, but for the memory of since when
// devices are held back.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/reports/node_report.h"
#include "reactor/base/time.h"

namespace sliced::reports {

/// Kind of a subject that is no policy.
inline constexpr const char* kPodKind = "Pod";

/// Something that is so now. Two of a node are the same thing when reason, policy and what are equal.
/// Reasons: PolicyNotUsedAsWritten, EntryRefused, PoliciesContradict, DeviceWithdrawnInUse, DevicesHeldBack, ConfigurationIgnored.
struct ReportedEvent {
  std::string reason;  // "PolicyNotUsedAsWritten"; an interface (docs/reports.md)
  PolicyRef policy;    // that it is about; kind "": about the Node; kPodKind: about a pod of the node
  std::string what;    // of one policy: which of several things, as a verdict, or a generation
  std::string note;    // for people
  /// It follows from what the policies say, so that every node of a fleet finds it: the same thing on all of them.
  bool is_of_fleet = false;
  auto key() const { return std::tie(reason, policy, what); }
};
using ReportedEvents = std::vector<ReportedEvent>;

/// Devices that a claim has and that are not offered any more, by name: cause and holder, "DeviceExposurePolicy x (generation
/// 2) excludes it; claim ns/name (pod a) has it".
using WithdrawnInUse = std::map<std::string, std::string>;

/// In this order: policies with problems, entries that are refused, policies of both kinds that want one
/// device, devices that were withdrawn while in use, devices that are held back for kHeldBackFor.
/// Memory:  since when, for each device that is held back and each policy that takes it; forgotten with the
///          first report in which it is not. A process that begins anew counts from its first report.
/// Threads: one.
class ReportedEventFinder {
 public:
  static constexpr Millis kHeldBackFor{300'000};
  static constexpr size_t kOfOneReasonMax = 25;  // at one time; of more the first

  /// What is so. report: before it was made to fit. Linear in its devices that are held back.
  ReportedEvents look(const NodeReport& report, const WithdrawnInUse& in_use, TimePoint now);

 private:
  using DeviceKey = std::tuple<PolicyRef, std::string, std::string>;  // policy, outcome, device
  void find_held_back(const NodeReport& report, TimePoint now, ReportedEvents& out);

  std::map<DeviceKey, TimePoint> held_since_;
};

}  // namespace sliced::reports
