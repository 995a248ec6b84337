#pragma once
// How a daemon stands, as a value: what `sliced status` shows and what the probes ask. Whoever knows the daemon
// fills it in; nothing here asks anybody.
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

/// Copies of what the daemon knows at one moment, made anew for each request: nothing of it is kept.
struct Report {
  // Who answers.
  std::string version, node, cluster, pod_uid;
  int64_t pid = 0;
  Millis up{0};

  /// What is watched, and how it stands (watchers::SyncState); the host is one of them.
  /// The states are the words of watchers::describe(); the host is "starting" until it was read once, then
  /// "live".
  struct Source {
    std::string name;   // "own slices"
    std::string state;  // "live", "absent", "denied", "unreachable", "starting"
    std::string why;
    bool has_synced = false;
    bool is_of_cluster = true;
    bool is_waited_for = true;  // false: the daemon is ready without it
  };
  std::vector<Source> sources;
  std::vector<std::string> waiting_for;         // of the first decision; empty once there is one
  std::optional<policy::Summary> summary = {};  // of the last decision

  /// The interlock is held and nothing keeps from writing; else why not.
  bool is_serving = false;
  std::string stands_by_for;
  /// "on"; "off": pods with claims do not start on this node; "waiting": another program serves one of the drivers.
  /// "": there is no kubelet, or it is not known.
  std::string kubelet_plugin = {};
  std::string kubelet_plugin_waits_for = {};  // "waiting": which driver, and where it is served
  std::vector<std::string> unknown_macs =
      {};  // VFs whose MAC address of before is unknown, each with the remedy
  std::vector<std::string> settings_problems =
      {};  // devices that do not have their settings of before a pod, or of which these are unknown
  std::string connection_problem =
      {};  // why pods that want an interface do not start: NRI is missing; "" they do
  std::vector<std::string> not_returned =
      {};  // devices that are held for claims that are gone, and so not offered, each with the reason
  std::string dropped_fields = {};        // of policies, by the API server (daemon/schema_check.h); "" none
  std::string awaits_configuration = {};  // what is waited for before anything new is offered; "" nothing
  std::vector<std::string> waits =
      {};  // what devices that are held back wait for, each reason once with its count
  std::optional<bool> is_node_state_in_sync = {};  // with its SriovNetworkNodeState; nullopt: it is not read

  struct Driver {
    std::string name;
    size_t entries = 0, slices = 0;          // desired; observed
    bool is_settled = false;                 // nothing is left to be written
    uint64_t writes = 0;                     // answered or not
    std::string failure;                     // of the last write; "" it went well
    std::optional<Millis> since_taken = {};  // since the last write that the API server took
  };
  // Those of the options, also one that offers nothing.
  /// That of SriovResourcePolicies first, then that of DeviceExposurePolicies.
  std::vector<Driver> drivers;
};

/// /readyz: every source has synced once, the API server answers, there is a decision. Standing by is ready: a
/// successor that is not would never be waited for, and its predecessor never end. The names are an interface.
/// A check for each source; then "api", "decision", and two that always pass: "interlock", which says in its note for
/// whom this stands by, and "configuration", what is waited for before anything new is offered. A node whose hardware
/// nobody has configured yet must not hold up a rollout.
std::vector<Check> readiness(const Report& report);
/// A source's name as checks and metrics have it: "own-slices"; of the node, which has its own behind it, "node".
std::string source_name(const Report::Source& source);

/// Members are an interface (docs/command-line.md).
/// Times are whole seconds; texts that others wrote are made fit for a terminal and cut at 1 KiB; what is
/// unknown is left out.
kube::Json json_of(const Report& report);

/// Those of a service (probe.h), and /status: of a report that is made when one is asked for.
/// Both are called once for a request, on the loop, and not otherwise.
ShortPages status_pages(std::function<Report()> report, std::function<std::string()> exposition);

}  // namespace sliced::status
