// What stands in a NodeDeviceReport, whoever wrote it: as its own daemon reads it back, and as who sums up a fleet does.
#include "controller/aggregate/summing.h"
#include "daemon/reports/node_report.h"
#include "daemon/reports/reported_event.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::node_report_target {

namespace {

// Of each text, with room for an escape and dots at its end.
constexpr size_t kTextBytesMax = 600;

void check_read(std::string_view text) {
  fuzz::must(is_utf8(text), "what is read is UTF-8", text);
  fuzz::must(text.size() <= kTextBytesMax, "what is read is bounded", text);
}

void look_at_devices(const reports::NodeReport& report) {
  size_t devices = 0;
  for (const reports::DeviceGroup& group : report.groups) {
    const size_t count = reports::device_count(group);
    devices += count;
    const auto all = reports::devices_of(group);
    fuzz::must(all.size() <= count, "a group has no more devices than it says");
    for (const hotplug::HostDevice& device : all) fuzz::must(!device.id.text.empty(), "a device has a name");
    if (!group.vfs.empty())
      fuzz::must(reports::vf_ranges_of(reports::text_of(group.vfs)) == group.vfs, "ranges are text and back");
  }
  fuzz::must(devices <= reports::kReportedDevicesMax, "devices are bounded");
}

void look_at_texts(const reports::NodeReport& report) {
  for (const std::string& problem : report.problems) check_read(problem);
  for (const reports::PolicyReport& policy : report.policies) {
    check_read(policy.policy.name);
    check_read(policy.problem);
    check_read(policy.overruled_by);
    for (const auto& [outcome, count] : policy.hidden) check_read(outcome);
  }
  for (const reports::DeviceGroup& group : report.groups)
    for (const reports::PolicyVerdict& said : group.verdicts) check_read(said.why);
}

// Of two nodes that say the same.
void sum_up(const reports::NodeReport& report) {
  aggregate::SharedReportValues shared;
  const auto words =
      std::make_shared<const aggregate::NodePolicyReports>(aggregate::policy_reports_of(report, shared));
  const aggregate::PolicyReportsByNode nodes = {{"a", words}, {"b", words}};
  aggregate::FleetSum sum(shared);
  while (!sum.step(nodes, 1)) {
  }
  for (const aggregate::NodePolicyReport& one : *words) {
    const reports::PolicyRef& policy = *one.policy;
    const aggregate::PolicyTotals& word = sum.of(policy);
    fuzz::must(word.selected == 2, "a node is counted once", policy.name);
    fuzz::must(word.matched >= 0 && word.offered >= 0 && word.conflicts >= 0 && word.overruled >= 0,
               "sums are no less than nothing");
    const auto status = aggregate::status_of({.generation = 1}, word, {}, "2026-11-24T00:00:00Z");
    const auto body = kube::encode_json(aggregate::json_of(status));
    fuzz::must(is_utf8(body), "a status is UTF-8", body);
    fuzz::must(aggregate::decode_policy_status(*kube::decode_json(body)) == status, "a status comes back",
               body);
    fuzz::must(aggregate::status_of({.generation = 1}, word, status, "later") == status,
               "what has not changed is not written");
  }
}

}  // namespace

FUZZ_TARGET(node_report) {
  const auto json = kube::decode_json({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  auto read = reports::decode_node_report(*json);
  if (!read) return fuzz::check(read.error()), 0;
  look_at_devices(*read);
  look_at_texts(*read);
  sum_up(*read);
  reports::ReportedEventFinder finder;
  for (const Millis after : {Millis{0}, Millis{400'000}})
    fuzz::must(finder.look(*read, {}, TimePoint{} + after).size() <=
                   5 * reports::ReportedEventFinder::kOfOneReasonMax,
               "what is worth an event is bounded");
  auto again = reports::decode_node_report(reports::json_of(*read));
  fuzz::must(again.ok() && *reports::decode_node_report(reports::json_of(*again)) == *again,
             "what was written and read is written the same");
  // What a daemon says: of its own node, and with the verdicts that there are.
  again->node = again->node_uid = "a";
  again->sriov.clear(), again->exposure.clear();
  const auto fitted =
      kube::encode_json(reports::json_of(reports::fit(*std::move(again)), {.resource_version = "1"}));
  fuzz::must(fitted.size() <= reports::kReportBytesMax, "it fits");
  return 0;
}

}  // namespace sliced::fuzz::node_report_target
