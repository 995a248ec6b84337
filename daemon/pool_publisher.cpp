#include "daemon/pool_publisher.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/in_order.h"
#include "reactor/base/text.h"

namespace sliced::daemon {
namespace {

constexpr size_t kNamesInLog = 8;

// A slice that cannot be decoded differs from the desired one; the publisher determines whether it is ours.
kube::ResourceSlice slice_of(const PoolPublisher::Item& item) {
  return item.value ? *item.value : publishers::unread_slice(item.id.name, item.uid, item.resource_version);
}

std::string some_of(const std::vector<std::string>& names) {
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<long>(std::min(names.size(), kNamesInLog)));
  if (names.size() > kNamesInLog)
    shown.push_back("and " + std::to_string(names.size() - kNamesInLog) + " more");
  return join(shown, ",");
}

}  // namespace

PoolPublisher::PoolPublisher(kube::ClusterPorts ports, std::string driver, PoolEvents& events)
    : log_(ports.log),
      driver_(std::move(driver)),
      publisher_(
          std::move(ports), driver_,
          {.on_refused =
               [this, &events](auto entries) {
                 for (auto& entry : entries)
                   quarantine_[entry.name] = {entry.content_hash, std::move(entry.why)};
                 events.on_refused();
               },
           .on_lost = [&events](const auto& lost) { events.on_lost(lost); },
           .on_settled = [this, &events](const auto& unsettled) { events.on_settled(driver_, unsettled); },
           .on_adopted = [&events](const auto& slice) { events.on_adopted(slice); }}) {
  publisher_.permit(false);
}

std::vector<const kube::ResourceSlice*> PoolPublisher::apply(const Event& event) {
  std::vector<const kube::ResourceSlice*> shown;
  if (const auto* changed = std::get_if<Changed<Item>>(&event)) {
    publisher_.on_slices(Changed<kube::ResourceSlice>{slice_of(changed->now)});
    const auto at = publisher_.observed().find(changed->now.id.name);
    if (at != publisher_.observed().end()) shown.push_back(&at->second);
  } else if (const auto* removed = std::get_if<Removed<Item>>(&event)) {
    publisher_.on_slices(Removed<kube::ResourceSlice>{{removed->id.name}});
  } else {
    const auto& list = std::get<Relisted<Item>>(event);
    Relisted<kube::ResourceSlice> whole{{}, list.why};
    for (const Item& item : list.all) whole.all.push_back(slice_of(item));
    publisher_.on_slices(whole);
    for (const auto& [name, slice] : publisher_.observed()) shown.push_back(&slice);
  }
  return shown;
}

bool PoolPublisher::is_there(const std::string& node) const {
  return std::ranges::any_of(publisher_.observed(), [&](const auto& entry) {
    return publishers::is_ours(entry.second, driver_, node);
  });
}

bool PoolPublisher::empty_quarantine() { return !std::exchange(quarantine_, {}).empty(); }

const std::vector<policy::DesiredPool>& PoolPublisher::desired_last() const {
  return publisher_.desired().empty() ? before_gap_ : publisher_.desired();
}

void PoolPublisher::on_node_deleted() {
  if (!publisher_.desired().empty()) before_gap_ = publisher_.desired();
  publisher_.clear_desired();
}

void PoolPublisher::set_desired(std::vector<policy::DesiredPool> pools, publishers::NodeIdentity node) {
  publisher_.set_desired(std::move(pools), std::move(node));
  before_gap_.clear();
  is_deferred_ = false;
}

void PoolPublisher::defer() {
  publisher_.await_desired();
  is_deferred_ = true;
}

std::optional<policy::OfferDifference> PoolPublisher::difference(
    const std::vector<policy::DesiredPool>& pools, bool is_first) const {
  std::vector<const kube::Device*> before;
  for (const auto& pool : publisher_.desired())
    for (const kube::Device& device : pool.devices) before.push_back(&device);
  policy::InOrder former(before, [](const kube::Device* device) { return std::string_view(device->name); });
  std::vector<bool> is_there(before.size());
  policy::OfferDifference out;
  auto& [added, changed, removed] = out;
  for (const auto& pool : pools) {
    for (const kube::Device& device : pool.devices) {
      const auto* was = former.find(device.name);
      if (was == nullptr) {
        added.push_back(device.name);
        continue;
      }
      is_there[static_cast<size_t>(was - before.data())] = true;
      if (*was != &device && **was != device) changed.push_back(device.name);
    }
  }
  for (size_t i = 0; i < before.size(); ++i)
    if (!is_there[i]) removed.push_back(before[i]->name);
  for (auto* names : {&added, &changed, &removed}) std::ranges::sort(*names);
  if (!is_first && added.empty() && changed.empty() && removed.empty()) return std::nullopt;
  return out;
}

void PoolPublisher::log(const policy::OfferDifference& difference,
                        const std::vector<policy::DesiredPool>& pools, const Origin& origin) const {
  size_t offered = 0;
  for (const auto& pool : pools) offered += pool.devices.size();
  log_.info(origin.is_first ? "decided" : "offer changed", {{"driver", driver_},
                                                            {"why", origin.why},
                                                            {"offered", offered},
                                                            {"devices", origin.devices},
                                                            {"policies", origin.policies},
                                                            {"added", some_of(difference.added)},
                                                            {"changed", some_of(difference.changed)},
                                                            {"removed", some_of(difference.removed)}});
}

}  // namespace sliced::daemon
