#pragma once
// What of a node's report is worth an event: values, before anybody is told. Pure, but for the memory of since when
// devices are held back.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "reactor/base/time.h"
#include "reports/node_report.h"

namespace sliced::reports {

/// Something that is so now. Two are the same thing when all but note are equal.
struct Happening {
  std::string reason;  // "PolicyNotUsedAsWritten"; an interface (docs/reports.md)
  PolicyRef policy;    // that it is about; kind "": about the Node
  std::string what;    // of one policy: which of several things, as a verdict
  std::string note;    // for people
  auto key() const { return std::tie(reason, policy, what); }
};
using Happenings = std::vector<Happening>;

/// Devices that a pod has and that are not offered any more, by name: "claim ns/name, excluded".
using WithdrawnInUse = std::map<std::string, std::string>;

class HappeningFinder {
 public:
  static constexpr Millis kHeldBackFor{300'000};
  static constexpr size_t kHappeningsMax = 100;  // at one time; of more the first

  /// What is so. report: before it was made to fit. Linear in its devices that are held back.
  Happenings look(const NodeReport& report, const WithdrawnInUse& in_use, TimePoint now);

 private:
  using DeviceKey = std::tuple<PolicyRef, std::string, std::string>;  // policy, outcome, device
  void find_held_back(const NodeReport& report, TimePoint now, Happenings& out);

  std::map<DeviceKey, TimePoint> held_since_;
};

}  // namespace sliced::reports
