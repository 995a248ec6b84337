// What PFs are asked for, beside what the host tells by itself: what decisions wait for.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "daemon/daemon.h"
#include "policy/exposure/resolve.h"

namespace sliced::daemon {
namespace {

// How long the first decision waits for PFs; less than what they tell then is young (policy/gates/pf_word.h).
constexpr Millis kFirstWordMax{1'500};

// Selectors see the MAC address that the PF enforces of VFs that have no interface, and policies may begin to ask for it.
std::set<hotplug::PciAddress> pfs_of_handed_over(const hotplug::Inventory& host) {
  std::set<hotplug::PciAddress> out;
  for (const auto& [id, device] : host.devices)
    if (device.pf && hotplug::is_handed_over(device)) out.insert(*device.pf);
  return out;
}

bool has_interface_here(const hotplug::Inventory& host, const hotplug::PciAddress& pf) {
  const hotplug::HostDevice* device = host.find(pf.text());
  return device != nullptr && device->netdev && !device->netdev->stale;
}

}  // namespace

// Who was told of policies late knows PFs' word from before: it is asked anew, so that the first slice of a node is not an
// empty one, and the decision is made once more.
bool Daemon::asks_before_first(const policy::Decision& first) {
  std::set<hotplug::PciAddress> pfs = first.untold_pfs;
  std::erase_if(pfs, [this](const auto& pf) { return !has_interface_here(*host_.inventory(), pf); });
  if (pfs.empty()) return false;
  if (!first_asked_at_) {
    first_asked_at_ = scheduler_.now();
    ready_ticket_ =
        scheduler_.after(kFirstWordMax, [this] { decider_.mark("PFs are not waited for any longer"); });
  }
  if (scheduler_.now() - *first_asked_at_ >= kFirstWordMax) return false;
  host_.ask_again(pfs);  // one may fail to answer
  host_.ask_now(std::move(pfs), [this] { decider_.mark("PFs were asked what they enforce"); });
  return true;
}

void Daemon::await_readiness() {
  std::set<hotplug::PciAddress> pfs = decision_->awaited_pfs;
  if (is_node_state_awaited())
    for (const auto& [pf, why] : node_states_.over(inventory()).out_of_sync)
      if (const auto address = hotplug::PciAddress::decode(pf)) pfs.insert(*address);
  host_.ask_again(std::move(pfs));
  std::set<hotplug::PciAddress> untold = decision_->untold_pfs;
  if (is_mac_asked_anew()) untold.merge(pfs_of_handed_over(*inventory()));
  host_.ask_now(std::move(untold), [this] { decider_.mark("PFs were asked what they enforce"); });
  ready_ticket_.reset();
  if (!decision_->due) return;
  ready_ticket_ = scheduler_.after(std::max(Millis{0}, *decision_->due - scheduler_.now()),
                                   [this] { decider_.mark("a device has been ready for long enough"); });
}

// By a selector that did not ask for it before, or is another policy's.
bool Daemon::is_mac_asked_anew() {
  const auto& exposures = decision_->inputs->policies->exposures;
  std::vector<Shared<policy::ExposurePolicy>> asking;
  for (const int32_t one : decision_->selectors->asking_for_mac)
    asking.push_back(exposures[static_cast<size_t>(one)]);
  if (asking == asking_for_mac_) return false;
  const bool is_any_new = std::any_of(asking.begin(), asking.end(), [this](const auto& one) {
    return std::find(asking_for_mac_.begin(), asking_for_mac_.end(), one) == asking_for_mac_.end();
  });
  asking_for_mac_ = std::move(asking);
  return is_any_new;
}

}  // namespace sliced::daemon
