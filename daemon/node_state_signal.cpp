#include "daemon/node_state_signal.h"

#include <set>
#include <utility>

#include "policy/node_state/in_sync.h"

namespace sliced::daemon {

NodeStateSignal::NodeStateSignal(kube::ClusterPorts cluster, hotplug::HostSourcePorts host,
                                 NodeStateSource::Place place, NodeStateSource::Boot boot, bool allows_empty,
                                 configured::OnChange on_change)
    : scheduler_(cluster.scheduler),
      log_(cluster.log),
      allows_empty_(allows_empty),
      on_change_(std::move(on_change)),
      state_(std::move(cluster), std::move(place), std::move(boot),
             [this](const std::string&) { look_soon(); }),
      host_(std::move(host), [this](const auto&) { look_soon(); }) {}

void NodeStateSignal::start() {
  host_.start();
  state_.want(true);
}

void NodeStateSignal::look_soon() {
  soon_ = scheduler_.after(Millis{0}, [this] { look(); });
}

void NodeStateSignal::look() {
  if (is_seen_ || state_.is_awaited() || host_.inventory()->version == 0) return;
  const policy::NodeState& now = state_.over(host_.inventory());
  std::string awaited = policy::unconfigured_by(state_.reading(), now, allows_empty_);
  // A PF's driver may not report changes of its settings, so the PFs are polled.
  std::set<hotplug::PciAddress> pfs;
  for (const auto& [pf, why] : now.out_of_sync)
    if (const auto address = hotplug::PciAddress::decode(pf)) pfs.insert(*address);
  host_.poll_pfs(std::move(pfs));
  is_seen_ = awaited.empty();
  if (awaited == awaited_) return;
  awaited_ = std::move(awaited);
  if (is_seen_)
    log_.info("node configured");
  else
    log_.info("waiting for the configuration of this node", {{"awaited", awaited_}});
  if (on_change_) on_change_();
}

}  // namespace sliced::daemon
