// Gate settling: withholds a new entry of a device that has just appeared or changed, because further changes
// may follow.
// Evidence: Inputs::settling, the devices in an open quiet window (daemon/debouncer.h). There is one window
// for each PF with its VFs, and one for each other device.
// Until: --settle after the last event of the window, and at most --settle-max after its first event.
// Passes: entries that the previous decision published; they keep their attributes meanwhile. Before the
// first publication no window opens.
// Example: `echo 64 > sriov_numvfs` creates 64 VFs within seconds.
#include "policy/gates/settling.h"

#include "policy/gates/gate.h"
#include "policy/gates/published_before.h"

namespace sliced::policy {

SettlingDevices::SettlingDevices(const Inputs& inputs) : in_(inputs) {}

bool SettlingDevices::is_settling(const hotplug::HostDevice& device) const {
  return !in_.settling.empty() && in_.settling.contains(device.id.text);
}

bool SettlingDevices::was_published(std::string_view pool, std::string_view entry) const {
  return entry_before(in_, pool, entry) != nullptr;
}

kube::DevicePtr SettlingDevices::as_published_before(const hotplug::HostDevice& device, std::string_view pool,
                                                     kube::DevicePtr entry) const {
  if (!is_settling(device)) return entry;
  const kube::Device* was = entry_before(in_, pool, entry->name);
  if (was != nullptr && was->attributes != entry->attributes)
    entry.edit([&](kube::Device& kept) { kept.attributes = was->attributes; });
  return entry;
}

namespace gates {
namespace {

class SettlingGate final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kSettling};

  explicit SettlingGate(DecisionContext& context) : settling_(context.in) {}

  std::optional<Rejection> ask(const EntryCandidate& offer) override {
    if (!settling_.is_settling(offer.device) || settling_.was_published(offer.pool, offer.entry))
      return std::nullopt;
    return Rejection{Outcome::kSettling};
  }

  static std::string say(const GateExplanation& explained) {
    return (explained.by.empty() ? "" : explained.by + " offers it; ") +
           "it has just appeared or changed, and will be offered in a moment";
  }

 private:
  const SettlingDevices settling_;
};

}  // namespace

GateKind settling() { return gate_kind<SettlingGate>("settling"); }

}  // namespace gates
}  // namespace sliced::policy
