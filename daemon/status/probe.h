#pragma once
// Answers to probes, in the format of Kubernetes' own servers (k8s.io/apiserver/pkg/server/healthz). Pure.
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/status/pages.h"

namespace sliced::status {

/// One condition.
struct Check {
  std::string name;     // lower case, digits and dashes: an interface
  std::string problem;  // "": it holds
  std::string note;     // additional information if it holds
  bool operator==(const Check&) const = default;
};

/// Returns true for an empty list.
bool are_passed(const std::vector<Check>& checks);

/// Returns 200 "ok" and the notes, or 503 and each check: "[+]host ok", "[-]api failed: ...", "readyz check
/// failed". query: "verbose" always lists them; other items, such as Kubernetes' `exclude`, are ignored. A
/// reason is truncated at 1 KiB and made printable. probe: "readyz", the name of its path.
Answer probe_answer(std::string_view probe, const std::vector<Check>& checks, std::string_view query);

/// Returns /livez, which passes whenever the loop runs, and /readyz. readiness is called once for each
/// request, on the loop.
ShortPages probe_pages(std::function<std::vector<Check>()> readiness);
/// Adds /metrics, in the format of exposition.h.
ShortPages service_pages(std::function<std::vector<Check>()> readiness,
                         std::function<std::string()> exposition);
/// Returns their paths. Only these pages contain no names of nodes, devices or policies (guard.h), so that
/// probes and Prometheus may use any host name.
std::set<std::string> nameless_pages();

}  // namespace sliced::status
