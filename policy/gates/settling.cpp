// Asks: has the device just appeared or changed, so that more may follow, and is the entry new?
#include "policy/gates/settling.h"

#include "policy/gates/gate.h"

namespace sliced::policy {

Settling::Settling(const Inputs& inputs) : in_(inputs) {}

const Settling::Before& Settling::before() const {
  if (before_) return *before_;
  before_.emplace();
  if (in_.before == nullptr) return *before_;
  for (const auto& [driver, pools] : *in_.before)
    for (const DesiredPool& pool : pools)
      for (const kube::Device& device : pool.devices)
        before_->emplace(std::pair(std::string_view(pool.name), std::string_view(device.name)), &device);
  return *before_;
}

bool Settling::is_in_motion(const hotplug::HostDevice& device) const {
  return !in_.settling.empty() && in_.settling.contains(device.id.text);
}

bool Settling::was_there(std::string_view pool, std::string_view entry) const {
  return before().contains({pool, entry});
}

kube::DevicePtr Settling::as_it_was(const hotplug::HostDevice& device, std::string_view pool,
                                    kube::DevicePtr entry) const {
  if (!is_in_motion(device)) return entry;
  const auto was = before().find({pool, entry->name});
  if (was != before().end() && was->second->attributes != entry->attributes)
    entry.edit([&](kube::Device& kept) { kept.attributes = was->second->attributes; });
  return entry;
}

kube::DevicePtr Settling::kept(std::string_view pool, kube::DevicePtr entry) const {
  const kube::Device& was = *before().at({pool, entry->name});
  if (was.attributes != entry->attributes || was.taints != entry->taints)
    entry.edit([&](kube::Device& kept) {
      kept.attributes = was.attributes;
      kept.taints = was.taints;
    });
  return entry;
}

namespace gates {
namespace {

class SettlingGate final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kSettling};

  explicit SettlingGate(Circumstances& circumstances) : settling_(circumstances.in) {}

  std::optional<HeldBack> ask(const Offer& offer) override {
    if (!settling_.is_in_motion(offer.device) || settling_.was_there(offer.pool, offer.entry))
      return std::nullopt;
    return HeldBack{Outcome::kSettling};
  }

  static std::string say(const Telling& told) {
    return (told.by.empty() ? "" : told.by + " offers it; ") +
           "it has just appeared or changed, and will be offered in a moment";
  }

 private:
  const Settling settling_;
};

}  // namespace

GateKind settling() { return gate_kind<SettlingGate>("settling"); }

}  // namespace gates
}  // namespace sliced::policy
