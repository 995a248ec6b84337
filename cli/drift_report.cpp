#include "cli/drift_report.h"

#include <algorithm>

#include "daemon/process.h"
#include "policy/node_state/in_sync.h"
#include "reactor/base/table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using policy::DriftFinding;
using policy::DriftIs;
using policy::InterfaceDrift;

std::string_view word_of(DriftIs is) {
  switch (is) {
    case DriftIs::kSame:
      return "same";
    case DriftIs::kExempt:
      return "exempt";
    case DriftIs::kDiffers:
      return "differs";
    case DriftIs::kUnknown:
      return "unknown";
  }
  return "unknown";
}

std::string_view word_of(const InterfaceDrift& drift) {
  return drift.differs() ? "drift" : drift.is_in_sync() ? "in sync" : "unknown";
}

using DriftRow = std::vector<std::string>;

DriftRow row_of(const InterfaceDrift& drift, const DriftFinding& finding) {
  const bool differs = finding.is == DriftIs::kDiffers;
  return {drift.name,
          finding.device,
          finding.vf ? std::to_string(*finding.vf) : "",
          std::string(finding.field),
          finding.wanted,
          differs ? finding.found : "unknown: " + finding.why,
          finding.reported};
}

// Returns the row of an interface without differences.
DriftRow row_of(const InterfaceDrift& drift) {
  const auto exempt = std::count_if(drift.findings.begin(), drift.findings.end(),
                                    [](const DriftFinding& one) { return one.is == DriftIs::kExempt; });
  std::string found = "in sync, " + std::to_string(drift.vfs) + (drift.vfs == 1 ? " VF" : " VFs");
  if (exempt > 0) found += ", " + std::to_string(exempt) + " not asked";
  return {drift.name, drift.pci, "", "", "", std::move(found), ""};
}

void add_problems(const InterfaceDrift& drift, std::vector<DriftRow>& rows) {
  for (const policy::Problem& problem : drift.problems)
    rows.push_back({drift.name, drift.pci, "", problem.field, "", "unknown: " + problem.what, ""});
  if (drift.problems.more() > 0)
    rows.push_back({drift.name, drift.pci, "", "", "", and_more(drift.problems.more()), ""});
}

kube::Json json_of(const policy::Problems& problems) {
  kube::Json::Array out;
  for (const policy::Problem& problem : problems) {
    kube::Json one = kube::Json::Object{};
    one.set("field", problem.field);
    one.set("what", problem.what);
    out.push_back(std::move(one));
  }
  return kube::Json(std::move(out));
}

void put(kube::Json& out, const char* key, const std::string& text) {
  if (!text.empty()) out.set(key, is_utf8(text) ? text : escaped(text));
}

kube::Json json_of(const DriftFinding& finding) {
  kube::Json out = kube::Json::Object{};
  out.set("field", finding.field);
  if (finding.vf) out.set("vf", *finding.vf);
  put(out, "device", finding.device);
  out.set("is", word_of(finding.is));
  put(out, "wanted", finding.wanted);
  put(out, "found", finding.found);
  put(out, "reported", finding.reported);
  put(out, "why", finding.why);
  return out;
}

kube::Json json_of(const InterfaceDrift& drift) {
  kube::Json out = kube::Json::Object{};
  put(out, "pciAddress", drift.pci);
  put(out, "name", drift.name);
  out.set("externallyManaged", drift.externally_managed);
  out.set("is", word_of(drift));
  out.set("vfs", static_cast<int64_t>(drift.vfs));
  kube::Json::Array findings;
  for (const DriftFinding& finding : drift.findings) findings.push_back(json_of(finding));
  out.set("findings", kube::Json(std::move(findings)));
  if (!drift.problems.empty()) out.set("problems", json_of(drift.problems));
  return out;
}

}  // namespace

int DriftReport::exit_code() const {
  const auto differs = [](const policy::InterfaceDrift& drift) { return drift.differs(); };
  if (std::any_of(interfaces.begin(), interfaces.end(), differs)) return daemon::kExitDrift;
  const bool is_told = std::all_of(interfaces.begin(), interfaces.end(),
                                   [](const policy::InterfaceDrift& drift) { return drift.is_in_sync(); });
  return is_told && !state.is_spec_unknown ? daemon::kExitSame : daemon::kExitError;
}

std::string drift_table(const DriftReport& report) {
  std::vector<DriftRow> rows;
  for (const policy::InterfaceDrift& drift : report.interfaces) {
    const size_t before = rows.size();
    add_problems(drift, rows);
    for (const policy::DriftFinding& finding : drift.findings)
      if (finding.is == policy::DriftIs::kDiffers || finding.is == policy::DriftIs::kUnknown)
        rows.push_back(row_of(drift, finding));
    if (rows.size() == before) rows.push_back(row_of(drift));
  }
  const std::string status = policy::describe_status(report.state) + "\n";
  if (rows.empty() && !report.state.is_spec_unknown) return status + "no interface is to be configured\n";
  return status + table({"INTERFACE", "DEVICE", "VF", "FIELD", "WANTED", "FOUND", "REPORTED"}, rows);
}

kube::Json json_of(const DriftReport& report) {
  const policy::SriovNodeState& state = report.state;
  kube::Json out = kube::Json::Object{};
  put(out, "nodeState", state.name);
  out.set("generation", state.generation);
  put(out, "syncStatus", state.sync_status);
  put(out, "lastSyncError", state.last_sync_error);
  put(out, "currentState", state.current_state);
  out.set("inSync", report.exit_code() == daemon::kExitSame);
  kube::Json::Array interfaces;
  for (const policy::InterfaceDrift& drift : report.interfaces) interfaces.push_back(json_of(drift));
  out.set("interfaces", kube::Json(std::move(interfaces)));
  if (!state.problems.empty()) out.set("problems", json_of(state.problems));
  return out;
}

}  // namespace sliced::cli
