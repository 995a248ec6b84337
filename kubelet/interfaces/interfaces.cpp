#include "kubelet/interfaces/interfaces.h"

#include <algorithm>
#include <utility>

#include "kubelet/interfaces/wanted.h"
#include "kubelet/recall.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

// Of the claim's pods and the device, by what was recorded.
bool is_of(const cni::Attachment& attachment, const PreparedClaim& claim, const PreparedDevice& device) {
  return attachment.interface == device.config.if_name &&
         std::any_of(claim.pods.begin(), claim.pods.end(),
                     [&](const ReservingPod& pod) { return pod.uid == pod_uid_of(attachment); });
}

}  // namespace

Interfaces::Interfaces(Ports ports, Settings settings, std::function<const PreparedClaims&()> prepared,
                       Sandboxes::Handlers handlers)
    : ports_(std::move(ports)),
      settings_(std::move(settings)),
      prepared_(std::move(prepared)),
      attachments_({.scheduler = ports_.scheduler,
                    .executor = ports_.executor,
                    .log = ports_.log,
                    .records = std::make_shared<const cni::Records>(settings_.records),
                    .run = ports_.run,
                    .random = ports_.random}),
      sandboxes_({ports_.scheduler, ports_.log, attachments_}, prepared_, std::move(handlers)) {}

void Interfaces::start() {
  attachments_.start([this] {
    if (!settings_.only_ends) return connect();
    if (!has_any()) return;
    ports_.log.info("what was prepared in mode STANDALONE keeps its interfaces, and loses them, as before",
                    {{"interfaces", attachments_.all().size()}});
    undo_strays();
    connect();
    end_when_over();
  });
}

// Where the runtime is not connected, which would tell that their sandboxes are gone.
void Interfaces::undo_strays() {
  const PreparedClaims& prepared = prepared_();
  const auto may_have = [&prepared](std::string_view pod_uid) {
    return pod_uid.empty() || std::any_of(prepared.begin(), prepared.end(), [&](const auto& one) {
             const PreparedClaim& claim = one.second;
             return is_nameless(claim) ||
                    std::any_of(claim.pods.begin(), claim.pods.end(),
                                [&](const ReservingPod& pod) { return pod.uid == pod_uid; });
           });
  };
  std::vector<cni::Attachment> strays;
  for (const auto& [name, kept] : attachments_.all())
    if (!may_have(pod_uid_of(kept.record.attachment))) strays.push_back(kept.record.attachment);
  for (const cni::Attachment& one : strays) attachments_.detach_later(one);
}

void Interfaces::connect() {
  plugin_ = std::make_unique<nri::Plugin>(ports_.scheduler, ports_.random, ports_.log, ports_.dial,
                                          settings_.runtime, sandboxes_);
}

bool Interfaces::has_any() const {
  const PreparedClaims& prepared = prepared_();
  return !attachments_.all().empty() || std::any_of(prepared.begin(), prepared.end(), [](const auto& one) {
    return std::any_of(one.second.devices.begin(), one.second.devices.end(), has_network);
  });
}

void Interfaces::end_when_over() {
  look_again_ = ports_.scheduler.after(kEndsAgain, [this] {
    if (has_any()) return end_when_over();
    ports_.log.info("nothing that was prepared in mode STANDALONE is left");
    plugin_.reset();
  });
}

bool Interfaces::wants_interface(const PreparedDevice& device) const {
  return settings_.only_ends ? has_network(device) : !device.is_admin && !device.config.nad_name.empty();
}

std::vector<cni::Attachment> Interfaces::left_of(const PreparedClaim& claim) const {
  std::vector<cni::Attachment> out;
  for (const auto& [name, kept] : attachments_.all())
    for (const PreparedDevice& device : claim.devices)
      if (is_of(kept.record.attachment, claim, device)) out.push_back(kept.record.attachment);
  return out;
}

std::string Interfaces::waits_for(const PreparedClaim& claim) const {
  const auto wanting = std::find_if(claim.devices.begin(), claim.devices.end(),
                                    [this](const PreparedDevice& one) { return wants_interface(one); });
  if (wanting == claim.devices.end() || (plugin_ && plugin_->link().is_up)) return "";
  const auto is_attached = [&](const PreparedDevice& device) {
    return std::any_of(attachments_.all().begin(), attachments_.all().end(), [&](const auto& one) {
      return one.second.is_attached() && is_of(one.second.record.attachment, claim, device);
    });
  };
  if (std::all_of(claim.devices.begin(), claim.devices.end(), [&](const PreparedDevice& device) {
        return !wants_interface(device) || is_attached(device);
      }))
    return "";
  return "netAttachDefName is " + in_quotes(wanting->config.nad_name, 64) +
         ", and the container runtime, which tells us when a pod starts, is not connected (NRI: " +
         (plugin_ ? plugin_->link().why_not : "not begun") + "): enable NRI in the runtime and let " +
         escaped(settings_.runtime.socket) + " be its socket (--nri-socket-path), or " +
         (settings_.only_ends ? "delete its pod" : "run with --configuration-mode MULTUS") +
         "; the kubelet asks again";
}

kube::CallPtr Interfaces::read_networks(PreparedClaim claim, std::vector<KnownEntry> known,
                                        std::function<void(Result<PreparedClaim>)> done) {
  struct AsItIs final : kube::Call {
    reactor::Ticket turn;
  };
  if (!settings_.only_ends)
    return kubelet::read_networks(ports_.cluster, ports_.scheduler, std::move(claim), std::move(known),
                                  settings_.networks, std::move(done));
  auto call = std::make_unique<AsItIs>();
  call->turn =
      ports_.scheduler.after(Millis{0}, [claim = std::move(claim), done = std::move(done)]() mutable {
        const auto then = std::move(done);  // the call may be dropped by it
        then(std::move(claim));
      });
  return call;
}

void Interfaces::detach(const PreparedClaim& claim, std::function<void()> done) {
  const auto left = left_of(claim);
  auto count = std::make_shared<size_t>(left.size());
  if (left.empty()) return done();
  for (const cni::Attachment& one : left)
    attachments_.detach(one, [count, done](const Result<Unit>&) {
      if (--*count == 0) done();
    });
}

}  // namespace sliced::kubelet
