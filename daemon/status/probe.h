#pragma once
// What a probe is answered, in the words of Kubernetes' own servers (k8s.io/apiserver/pkg/server/healthz). Pure.
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/status/pages.h"

namespace sliced::status {

/// One thing that has to be so.
struct Check {
  std::string name;     // lower case, digits and dashes: an interface
  std::string problem;  // "": it is so
  std::string note;     // what is worth knowing where it is
  bool operator==(const Check&) const = default;
};

/// True of none.
bool are_passed(const std::vector<Check>& checks);

/// 200 "ok" and the notes, or 503 and each check: "[+]host ok", "[-]api failed: ...", "readyz check failed".
/// query: "verbose" lists them in any case.
/// A reason is cut at 1 KiB and made fit for a terminal. probe: "readyz", as its path is called.
/// Other items of the query, as Kubernetes' `exclude`, count for nothing.
Answer probe_answer(std::string_view probe, const std::vector<Check>& checks, std::string_view query);

/// /livez, which is passed where the loop turns: nobody would answer else; and /readyz.
/// What is passed is called once for each request, on the loop, and not otherwise.
ShortPages probe_pages(std::function<std::vector<Check>()> readiness);
/// And /metrics, in the format of exposition.h.
ShortPages service_pages(std::function<std::vector<Check>()> readiness,
                         std::function<std::string()> exposition);
/// Their paths: alone of all pages they tell no names of nodes, devices or policies (guard.h), so that probes and Prometheus
/// may read them under whatever name they know.
std::set<std::string> nameless_pages();

}  // namespace sliced::status
