#pragma once
// The state of a daemon as a value, for `sliced status` and the probes. The caller fills it in.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/status/probe.h"
#include "kube/objects/json.h"
#include "policy/summary.h"
#include "reactor/base/time.h"

namespace sliced::status {

inline constexpr size_t kStatusProblemsMax = 64;

/// Copies of the daemon's state at one moment, made for each request.
struct Report {
  // Identity.
  std::string version, node, cluster, pod_uid;
  int64_t pid = 0;
  Millis up{0};

  /// The sources and their states (watchers::SyncState), including the host. The states are those of
  /// watchers::describe(); the host is "starting" until it was read once, then "live".
  struct Source {
    std::string name;   // "own slices"
    std::string state;  // "live", "absent", "denied", "unreachable", "starting"
    std::string why;
    bool has_synced = false;
    bool is_of_cluster = true;
    bool is_waited_for = true;  // false: the daemon is ready without it
  };
  std::vector<Source> sources;
  std::vector<std::string> waiting_for;         // before the first decision; empty afterwards
  std::optional<policy::Summary> summary = {};  // of the last decision

  /// This process holds the interlock and, with the kubelet plugin, knows the prepared claims. stands_by_for:
  /// the reason if not.
  bool is_serving = false;
  std::string stands_by_for;
  /// "on"; "off": pods with claims do not start on this node; "waiting": another program serves one of the
  /// drivers. "": there is no kubelet, or unknown.
  std::string kubelet_plugin = {};
  std::string kubelet_plugin_waits_for = {};  // if "waiting": which driver, and where it is served
  std::vector<std::string> unknown_macs =
      {};  // VFs whose original MAC address is unknown, each with the remedy
  std::vector<std::string> settings_problems =
      {};  // devices without their original settings, or whose original settings are unknown
  std::string connection_problem =
      {};  // why pods with interfaces do not start: NRI is missing; "" if they do
  std::vector<std::string> not_returned =
      {};  // devices that are held for deleted claims, and so not offered, each with the reason
  std::string dropped_fields = {};        // fields of policies that the API server drops
                                          // (daemon/schema_check.h); "" if none
  std::string awaits_configuration = {};  // the condition that delays new devices of the node; "" if
                                          // none
  /// Problems of policies and of the last decision, as in the node's report: at most kStatusProblemsMax.
  std::vector<std::string> problems = {};
  size_t more_problems = 0;
  std::vector<std::string> waits = {};             // reasons of held-back devices, each once with its count
  std::optional<bool> is_node_state_in_sync = {};  // with its SriovNetworkNodeState; nullopt: it is not read

  struct Driver {
    std::string name;
    size_t entries = 0, slices = 0;          // desired; observed
    bool is_settled = false;                 // nothing remains to be written
    uint64_t writes = 0;                     // including those without an answer
    std::string failure;                     // of the last write; "" if it succeeded
    std::optional<Millis> since_taken = {};  // since the last successful write
  };
  // Those of the options, even without an offer. First that of SriovResourcePolicies, then that of
  // DeviceExposurePolicies.
  std::vector<Driver> drivers;
};

/// Returns the checks of /readyz: every source has synced once, the API server answers, there is a decision.
/// A standby daemon is ready: otherwise a rollout would never stop its predecessor. The names are an
/// interface: one for each source; then "api", "decision", and two that always pass: "interlock", whose note
/// names the holder, and "configuration", with the missing condition. A node with unconfigured hardware
/// must not block a rollout.
std::vector<Check> readiness(const Report& report);
/// Returns a source's name for checks and metrics: "own-slices"; for the node, whose name follows, "node".
std::string source_name(const Report::Source& source);

/// Members are an interface (docs/command-line.md). Times are whole seconds; texts from outside are made
/// printable and truncated at 1 KiB; unknown values are omitted.
kube::Json json_of(const Report& report);

/// Returns the pages of a service (probe.h), and /status. Both functions are called once for each request, on
/// the loop.
ShortPages status_pages(std::function<Report()> report, std::function<std::string()> exposition);

}  // namespace sliced::status
