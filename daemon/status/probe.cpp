#include "daemon/status/probe.h"

#include <algorithm>
#include <utility>

#include "daemon/status/exposition.h"
#include "reactor/base/text.h"

namespace sliced::status {
namespace {

constexpr size_t kReasonBytesMax = 1'024;

bool is_verbose(std::string_view query) {
  return std::ranges::any_of(split(query, '&'), [](std::string_view item) {
    return item == "verbose" || item.starts_with("verbose=");
  });
}

std::string line_of(const Check& check) {
  if (!check.problem.empty())
    return "[-]" + check.name + " failed: " + printable(check.problem, kReasonBytesMax) + "\n";
  return "[+]" + check.name + " ok" +
         (check.note.empty() ? "" : ": " + printable(check.note, kReasonBytesMax)) + "\n";
}

}  // namespace

bool are_passed(const std::vector<Check>& checks) {
  return std::ranges::all_of(checks, [](const Check& check) { return check.problem.empty(); });
}

Answer probe_answer(std::string_view probe, const std::vector<Check>& checks, std::string_view query) {
  const bool is_passed = are_passed(checks);
  std::string body;
  if (is_passed && !is_verbose(query)) {
    body = "ok\n";
    for (const Check& check : checks)
      if (!check.note.empty()) body += printable(check.note, kReasonBytesMax) + "\n";
  } else {
    for (const Check& check : checks) body += line_of(check);
    body += std::string(probe) + (is_passed ? " check passed\n" : " check failed\n");
  }
  return {.status = is_passed ? 200 : 503, .body = std::move(body)};
}

ShortPages probe_pages(std::function<std::vector<Check>()> readiness) {
  return {{"/livez", [](std::string_view query) { return probe_answer("livez", {{"loop", "", ""}}, query); }},
          {"/readyz", [readiness = std::move(readiness)](std::string_view query) {
             return probe_answer("readyz", readiness(), query);
           }}};
}

ShortPages service_pages(std::function<std::vector<Check>()> readiness,
                         std::function<std::string()> exposition) {
  ShortPages out = probe_pages(std::move(readiness));
  out["/metrics"] = [exposition = std::move(exposition)](std::string_view) {
    return Answer{.body = exposition(), .content_type = Exposition::kContentType};
  };
  return out;
}

std::set<std::string> nameless_pages() {
  std::set<std::string> out;
  for (const auto& [path, page] : service_pages({}, {})) out.insert(path);
  return out;
}

}  // namespace sliced::status
