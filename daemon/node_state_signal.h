#pragma once
// The node's SriovNetworkNodeState as a signal: it exists with a non-empty spec, and the host matches it
// (policy/node_state/). For commands that wait without a daemon; a daemon checks it itself (daemon/daemon.h).
// Log: the missing condition, and the end of the wait.
#include <string>

#include "daemon/node_state.h"
#include "hotplug/host_source.h"
#include "kube/client/ports.h"
#include "watchers/configured/signal.h"

namespace sliced::daemon {

/// Implements configured::ConfiguredSignal. given_up() stays "", because a missing object may still be created. Nothing
/// is watched after the signal.
class NodeStateSignal final : public configured::ConfiguredSignal {
 public:
  /// Permissions: get, list and watch on sriovnetworknodestates in that namespace.
  NodeStateSignal(kube::ClusterPorts cluster, hotplug::HostSourcePorts host, NodeStateSource::Place place,
                  NodeStateSource::Boot boot, bool allows_empty, configured::OnChange on_change);

  void start() override;
  bool is_seen() const override { return is_seen_; }
  const std::string& awaited() const override { return awaited_; }
  const std::string& given_up() const override { return given_up_; }

 private:
  // Checks in a turn of its own, because the caller is within a change.
  void look_soon();
  void look();

  reactor::Scheduler& scheduler_;
  Log& log_;
  const bool allows_empty_;
  const configured::OnChange on_change_;
  bool is_seen_ = false;
  std::string awaited_ = "the node's SriovNetworkNodeState has not been read yet";
  const std::string given_up_;
  reactor::Ticket soon_;
  NodeStateSource state_;
  hotplug::HostSource host_;
};

}  // namespace sliced::daemon
