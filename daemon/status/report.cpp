#include "daemon/status/report.h"

#include <algorithm>
#include <utility>

#include "reactor/base/text.h"

namespace sliced::status {
namespace {

using kube::Json;

std::string problem_of(const Report::Source& source) {
  if (source.has_synced) return "";
  return source.state + (source.why.empty() ? "" : ": " + source.why);
}

// One source with an answer is sufficient; otherwise the first reason counts.
std::string api_problem(const Report& report) {
  std::string problem;
  for (const Report::Source& source : report.sources) {
    if (!source.is_of_cluster) continue;
    if (source.state == "live" || source.state == "absent" || source.state == "denied") return "";
    if (problem.empty() || (source.state == "unreachable" && !problem.starts_with("unreachable")))
      problem = source.state + (source.why.empty() ? "" : ": " + source.why);
  }
  return problem;
}

Json json_of(const policy::OutcomeCounts& counts) {
  Json out = Json::Object{};
  for (const auto& [outcome, count] : counts) out.set(name_of(outcome), static_cast<int64_t>(count));
  return out;
}

Json json_of(const policy::Summary& summary) {
  Json out = Json::Object{};
  out.set("text", describe(summary));
  out.set("devices", static_cast<int64_t>(summary.devices));
  out.set("offered", static_cast<int64_t>(summary.offered));
  out.set("hidden", static_cast<int64_t>(summary.hidden));
  out.set("heldBack", static_cast<int64_t>(summary.held_back));
  out.set("sriovVerdicts", json_of(summary.sriov));
  out.set("exposureVerdicts", json_of(summary.exposure));
  return out;
}

Json json_of(const Report::Source& source) {
  Json out = Json::Object{};
  out.set("name", printable(source.name));
  out.set("state", source.state);
  out.set("synced", source.has_synced);
  if (!source.why.empty()) out.set("why", printable(source.why, 1'024));
  return out;
}

Json json_of(const Report::Driver& driver) {
  Json out = Json::Object{};
  out.set("name", driver.name);
  out.set("entries", static_cast<int64_t>(driver.entries));
  out.set("slices", static_cast<int64_t>(driver.slices));
  out.set("settled", driver.is_settled);
  out.set("writes", static_cast<int64_t>(driver.writes));
  if (driver.since_taken)
    out.set("lastWriteSecondsAgo", static_cast<int64_t>(driver.since_taken->count() / 1'000));
  if (!driver.failure.empty()) out.set("failure", printable(driver.failure, 1'024));
  return out;
}

Json json_of(const Check& check) {
  Json out = Json::Object{};
  out.set("name", check.name);
  out.set("ok", check.problem.empty());
  if (const std::string& why = check.problem.empty() ? check.note : check.problem; !why.empty())
    out.set("why", printable(why, 1'024));
  return out;
}

template <class T>
Json list_of(const std::vector<T>& items) {
  Json::Array out;
  for (const T& item : items) out.push_back(json_of(item));
  return out;
}

}  // namespace

std::string source_name(const Report::Source& source) {
  if (source.name.starts_with("node ")) return "node";
  std::string name = source.name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::vector<Check> readiness(const Report& report) {
  std::vector<Check> out;
  for (const Report::Source& source : report.sources)
    out.push_back({source_name(source), source.is_waited_for ? problem_of(source) : "", ""});
  out.push_back({"api", api_problem(report), ""});
  const std::string undecided =
      report.waiting_for.empty() ? "no decision yet" : "waits for " + join(report.waiting_for, "; ");
  out.push_back({"decision", report.summary ? "" : undecided, ""});
  out.push_back({"interlock", "", report.is_serving ? "" : "stands by: " + report.stands_by_for});
  out.push_back(
      {"configuration", "",
       report.awaits_configuration.empty()
           ? ""
           : "this node is not configured yet, so no device is added and no new claim is prepared: " +
                 report.awaits_configuration});
  return out;
}

Json json_of(const Report& report) {
  const std::vector<Check> checks = readiness(report);
  Json out = Json::Object{};
  out.set("version", report.version);
  out.set("pid", report.pid);
  if (!report.pod_uid.empty()) out.set("podUID", report.pod_uid);
  out.set("node", report.node);
  out.set("cluster", printable(report.cluster));
  out.set("upSeconds", static_cast<int64_t>(report.up.count() / 1'000));
  out.set("ready", are_passed(checks));
  out.set("serving", report.is_serving);
  if (!report.is_serving) out.set("standsByFor", printable(report.stands_by_for, 1'024));
  if (!report.kubelet_plugin.empty()) out.set("kubeletPlugin", report.kubelet_plugin);
  if (!report.kubelet_plugin_waits_for.empty())
    out.set("kubeletPluginWaitsFor", printable(report.kubelet_plugin_waits_for, 1'024));
  if (!report.unknown_macs.empty()) {
    Json::Array macs;
    for (const std::string& one : report.unknown_macs) macs.push_back(printable(one, 1'024));
    out.set("unknownOriginalMACs", Json(std::move(macs)));
  }
  if (!report.settings_problems.empty()) {
    Json::Array problems;
    for (const std::string& one : report.settings_problems) problems.push_back(printable(one, 1'024));
    out.set("settingsNotRestored", Json(std::move(problems)));
  }
  if (!report.connection_problem.empty()) out.set("nriProblem", printable(report.connection_problem, 1'024));
  if (!report.not_returned.empty()) {
    Json::Array devices;
    for (const std::string& one : report.not_returned) devices.push_back(printable(one, 1'024));
    out.set("devicesNotReturned", Json(std::move(devices)));
  }
  if (!report.dropped_fields.empty()) out.set("droppedFields", printable(report.dropped_fields, 1'024));
  if (!report.awaits_configuration.empty())
    out.set("awaitsConfiguration", printable(report.awaits_configuration, 1'024));
  if (!report.problems.empty()) {
    Json::Array problems;
    for (const std::string& one : report.problems) problems.push_back(printable(one, 1'024));
    out.set("problems", Json(std::move(problems)));
  }
  if (report.more_problems > 0) out.set("moreProblems", static_cast<int64_t>(report.more_problems));
  if (report.summary) out.set("summary", json_of(*report.summary));
  if (!report.waits.empty()) {
    Json::Array waits;
    for (const std::string& one : report.waits) waits.push_back(printable(one, 1'024));
    out.set("waitsFor", Json(std::move(waits)));
  }
  out.set("drivers", list_of(report.drivers));
  out.set("sources", list_of(report.sources));
  out.set("checks", list_of(checks));
  return out;
}

ShortPages status_pages(std::function<Report()> report, std::function<std::string()> exposition) {
  ShortPages out = service_pages([report] { return readiness(report()); }, std::move(exposition));
  out["/status"] = [report](std::string_view) {
    return Answer{.body = kube::encode_json_pretty(json_of(report())), .content_type = "application/json"};
  };
  return out;
}

}  // namespace sliced::status
