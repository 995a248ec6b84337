#pragma once
// The node's SriovNetworkNodeState as a sign: it is there and wants something, and the host is as it wants it
// (policy/node_state/). For who waits without a daemon; a daemon looks at it by itself (daemon/daemon.h).
//
// Log: what is waited for, and that it is over.
#include <string>

#include "daemon/node_state.h"
#include "hotplug/host_source.h"
#include "kube/client/ports.h"
#include "watchers/configured/sign.h"

namespace sliced::cli {

/// As configured::Sign says; given_up() stays "": an object that is not there may still come. Once it is seen
/// nothing is looked at any more.
class NodeStateSign final : public configured::Sign {
 public:
  /// Permissions: get, list and watch on sriovnetworknodestates in that namespace.
  NodeStateSign(kube::Ports cluster, hotplug::HostSource::Ports host, daemon::NodeStateSource::Place place,
                daemon::NodeStateSource::Boot boot, bool allows_empty, configured::OnChange on_change);

  void start() override;
  bool is_seen() const override { return is_seen_; }
  const std::string& awaited() const override { return awaited_; }
  const std::string& given_up() const override { return given_up_; }

 private:
  // In a turn of its own: what told of a change is in the middle of it.
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
  daemon::NodeStateSource state_;
  hotplug::HostSource host_;
};

}  // namespace sliced::cli
