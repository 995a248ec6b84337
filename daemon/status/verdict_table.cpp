#include "daemon/status/verdict_table.h"

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/explain.h"
#include "reactor/base/table.h"
#include "reactor/base/text.h"

namespace sliced::status {
namespace {

void put_text(kube::Json& map, std::string_view key, const std::string& text) {
  if (!text.empty()) map.set(key, is_utf8(text) ? kube::Json(text) : kube::Json(escaped(text)));
}

// Returns a row of a table without its padding.
std::string cells_of(std::string_view row) {
  std::string out;
  for (const char c : row)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  return out;
}

std::string_view device_of(std::string_view row) { return row.substr(0, row.find(' ')); }

}  // namespace

std::string interface_text(const hotplug::HostDevice& device) {
  if (!device.netdev) return {};
  return device.netdev->name + (device.netdev->stale ? " (away)" : "");
}

kube::Json json_of(const policy::Explanation& explanation) {
  kube::Json out = kube::Json::Object{};
  out.set("device", explanation.device);
  out.set("outcome", explanation.outcome);
  put_text(out, "entry", explanation.entry);
  if (!explanation.personas.empty()) {
    kube::Json::Array personas;
    for (const policy::PersonaExplanation& persona : explanation.personas) {
      kube::Json one = kube::Json::Object{};
      one.set("policy", persona.policy);
      one.set("outcome", persona.outcome);
      put_text(one, "entry", persona.entry);
      one.set("summary", persona.summary);
      personas.push_back(std::move(one));
    }
    out.set("personas", std::move(personas));
  }
  out.set("summary", explanation.summary);
  if (!explanation.mac_problem.empty()) {
    out.set("originalMAC", "unknown");
    out.set("originalMACProblem", explanation.mac_problem);
  }
  if (!explanation.settings_problem.empty()) out.set("settingsNotRestored", explanation.settings_problem);
  if (!explanation.iommu_problem.empty()) out.set("iommuGroupProblem", explanation.iommu_problem);
  if (!explanation.unreadable.empty()) {
    kube::Json::Array notes;
    for (const std::string& note : explanation.unreadable) notes.push_back(note);
    out.set("unreadable", std::move(notes));
  }
  kube::Json::Array rules;
  for (const policy::Rule& rule : explanation.rules) {
    kube::Json one = kube::Json::Object{};
    put_text(one, "policy", rule.policy);
    put_text(one, "place", rule.place);
    put_text(one, "said", rule.result);
    put_text(one, "field", rule.field);
    if (!rule.field.empty()) one.set("found", rule.found);  // "" is a finding: the value is absent
    put_text(one, "wanted", rule.wanted);
    rules.push_back(std::move(one));
  }
  out.set("rules", std::move(rules));
  if (explanation.rules_left_out > 0)
    out.set("rulesLeftOut", static_cast<int64_t>(explanation.rules_left_out));
  return out;
}

VerdictsTable verdicts_table(const policy::Decision& decision) {
  VerdictsTable out;
  std::vector<std::vector<std::string>> rows;
  for (const auto& [id, device] : decision.inputs->inventory->devices) {
    const policy::Explanation why = explain(decision, id, /*rules_max=*/0);
    const bool is_offered = why.outcome == name_of(policy::Outcome::kOffered);
    out.offered += is_offered ? 1 : 0;
    rows.push_back({id, std::string(name_of(device.type)), interface_text(device), device.driver,
                    is_offered ? "yes" : "no", why.summary});
  }
  out.text = table({"DEVICE", "TYPE", "INTERFACE", "DRIVER", "OFFERED", "WHY"}, rows);
  return out;
}

std::string changed_rows(const std::string& before, const std::string& now) {
  if (before.empty()) return now;
  std::set<std::string> rows_before;
  for (const std::string_view row : split(before, '\n')) rows_before.insert(cells_of(row));
  std::set<std::string_view> devices;
  std::string out;
  for (const std::string_view row : split(now, '\n')) {
    devices.insert(device_of(row));
    if (row.data() != now.data() && !rows_before.contains(cells_of(row))) out += std::string(row) + "\n";
  }
  for (const std::string_view row : split(before, '\n'))
    if (!devices.contains(device_of(row))) out += std::string(device_of(row)) + "  gone\n";
  return out;
}

std::string explanation_text(const policy::Explanation& explanation) {
  std::string out = explanation.device + ": " + explanation.summary + "\n";
  if (!explanation.mac_problem.empty()) out += "VF " + explanation.mac_problem + "\n";
  if (!explanation.settings_problem.empty()) out += explanation.settings_problem + "\n";
  if (!explanation.iommu_problem.empty()) out += "  " + explanation.iommu_problem + "\n";
  for (const std::string& note : explanation.unreadable) out += "  not read: " + note + "\n";
  for (const policy::Rule& rule : explanation.rules) {
    out += "  " + rule.policy + " " + rule.place + ": " + rule.result;
    if (!rule.field.empty())
      out += ", " + rule.field + " is " + (rule.found.empty() ? "absent" : rule.found) + ", expected " +
             rule.wanted;
    out += "\n";
  }
  if (explanation.rules_left_out > 0) out += "  " + and_more(explanation.rules_left_out, "rule") + "\n";
  return out;
}

}  // namespace sliced::status
