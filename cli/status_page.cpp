#include "cli/status_page.h"

#include <vector>

#include "reactor/base/first_few.h"
#include "reactor/base/table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using kube::Json;

std::string word(const Json& json, std::string_view key) { return printable(json.text(key), 1'024); }
std::string number(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  return found != nullptr && found->integer() != nullptr ? std::to_string(*found->integer()) : "?";
}
const Json::Array& items(const Json& json, std::string_view key) {
  static const Json::Array kNone;
  const Json* found = json.find(key);
  return found != nullptr && found->array() != nullptr ? *found->array() : kNone;
}

std::string for_people(int64_t seconds) {
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 7'200) return std::to_string(seconds / 60) + " min";
  if (seconds < 172'800) return std::to_string(seconds / 3'600) + " h";
  return std::to_string(seconds / 86'400) + " days";
}

std::string last_write(const Json& driver) {
  const Json* ago = driver.find("lastWriteSecondsAgo");
  return ago == nullptr || ago->integer() == nullptr ? "" : for_people(*ago->integer()) + " ago";
}

std::string headline(const Json& report) {
  const Json* up = report.find("upSeconds");
  return "sliced " + word(report, "version") + ", pid " + number(report, "pid") + ", up " +
         for_people(up != nullptr && up->integer() != nullptr ? *up->integer() : 0) + ": " +
         (is_so(report, "ready") ? "ready" : "NOT READY") + ", " +
         (is_so(report, "serving") ? "serving" : "standing by") + "\n";
}

// A line each. Many problems usually have one cause, so the first ones are enough for people.
std::string problems_text(const Json& report) {
  constexpr size_t kShownMax = 10;
  std::string out;
  const Json::Array& problems = items(report, "problems");
  for (size_t i = 0; i < problems.size() && i < kShownMax; ++i)
    if (problems[i].string() != nullptr) out += "problem: " + printable(*problems[i].string(), 1'024) + "\n";
  const Json* more = report.find("moreProblems");
  const size_t only_counted = more != nullptr && more->integer() != nullptr && *more->integer() > 0
                                  ? static_cast<size_t>(*more->integer())
                                  : 0;
  const size_t left_out = (problems.size() > kShownMax ? problems.size() - kShownMax : 0) + only_counted;
  if (left_out == 0) return out;
  out += and_more(left_out, "problem");
  if (only_counted == 0) return out + " (-o json)\n";
  return out + " (-o json has the first " + std::to_string(problems.size()) + ")\n";
}

}  // namespace

bool is_so(const Json& report, std::string_view key) {
  const Json* found = report.find(key);
  return found != nullptr && found->boolean() != nullptr && *found->boolean();
}

std::string status_text(const Json& report) {
  std::string out = headline(report);
  out += "node " + word(report, "node") + ", cluster " + word(report, "cluster") + "\n";
  const Json* summary = report.find("summary");
  out += summary == nullptr ? "starting: no decision yet; published devices are unchanged\n"
                            : word(*summary, "text") + "\n";
  if (const std::string plugin = word(report, "kubeletPlugin"); plugin == "off")
    out += "kubelet plugin: off; pods with claims do not start on this node (--kubelet-plugin on)\n";
  else if (plugin == "skipped")
    out += "kubelet plugin: off; kubelets start pods without one (--skip-node-operations)\n";
  else if (plugin == "waiting")
    out += "kubelet plugin: waiting for the end of another program that serves " +
           word(report, "kubeletPluginWaitsFor") + "\n";
  if (const std::string nri = word(report, "nriProblem"); !nri.empty()) out += nri + "\n";
  for (const Json& device : items(report, "devicesNotReturned"))
    if (device.string() != nullptr) out += printable(*device.string(), 1'024) + "\n";
  for (const Json& mac : items(report, "unknownOriginalMACs"))
    if (mac.string() != nullptr) out += "VF " + printable(*mac.string(), 1'024) + "\n";
  for (const Json& problem : items(report, "settingsNotRestored"))
    if (problem.string() != nullptr) out += printable(*problem.string(), 1'024) + "\n";
  if (const std::string dropped = word(report, "droppedFields"); !dropped.empty())
    out += "the API server drops fields of policies (" + dropped + "): install the CRDs of this version\n";
  out += problems_text(report);
  for (const Json& wait : items(report, "waitsFor"))
    if (wait.string() != nullptr) out += printable(*wait.string(), 1'024) + "\n";
  for (const Json& check : items(report, "checks"))
    if (const std::string why = word(check, "why"); !why.empty())
      out += (is_so(check, "ok") ? "" : "not ready: " + word(check, "name") + ": ") + why + "\n";
  std::vector<std::vector<std::string>> drivers, sources;
  for (const Json& driver : items(report, "drivers"))
    drivers.push_back({word(driver, "name"), number(driver, "entries"), number(driver, "slices"),
                       number(driver, "writes"), last_write(driver), is_so(driver, "settled") ? "yes" : "no",
                       word(driver, "failure")});
  out += "\n" +
         table({"DRIVER", "ENTRIES", "SLICES", "WRITES", "LAST WRITE", "SETTLED", "LAST FAILURE"}, drivers);
  for (const Json& source : items(report, "sources"))
    sources.push_back({word(source, "name"), word(source, "state"), is_so(source, "synced") ? "yes" : "no",
                       word(source, "why")});
  return out + "\n" + table({"SOURCE", "STATE", "SYNCED", "WHY"}, sources);
}

}  // namespace sliced::cli
