#include "kubelet/interfaces/interfaces.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "kubelet/interfaces/default_routes.h"
#include "kubelet/interfaces/required_interfaces.h"
#include "kubelet/recall.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

// Compares the recorded pod and device.
bool is_of(const cni::Attachment& attachment, const PreparedClaim& claim, const PreparedDevice& device) {
  return attachment.interface == device.config.if_name &&
         std::any_of(claim.pods.begin(), claim.pods.end(),
                     [&](const ReservingPod& pod) { return pod.uid == pod_uid_of(attachment); });
}

// "ns/name".
std::string pod_of(const cni::Attachment& attachment) {
  return escaped(argument_of(attachment, "K8S_POD_NAMESPACE")) + "/" +
         escaped(argument_of(attachment, "K8S_POD_NAME"));
}

}  // namespace

Interfaces::Interfaces(InterfacesPorts ports, Settings settings,
                       std::function<const PreparedClaims&()> prepared, Sandboxes::Handlers handlers)
    : ports_(std::move(ports)),
      settings_(std::move(settings)),
      prepared_(std::move(prepared)),
      attachments_({.scheduler = ports_.scheduler,
                    .executor = ports_.executor,
                    .log = ports_.log,
                    .records = std::make_shared<const cni::Records>(settings_.records),
                    .run = ports_.run,
                    .random = ports_.random,
                    .host = ports_.host,
                    .addresses = settings_.addresses}),
      sandboxes_({ports_.scheduler, ports_.log, attachments_}, prepared_, std::move(handlers)) {}

void Interfaces::start() {
  attachments_.start([this] {
    if (settings_.only_ends && !attachments_.all().empty())
      ports_.log.info("interfaces of mode STANDALONE remain until their pods end",
                      {{"interfaces", attachments_.all().size()}});
    if (settings_.only_ends) detach_unclaimed();
    connect();
  });
}

// Does not require the runtime, which would report that the sandboxes no longer exist.
void Interfaces::detach_unclaimed() {
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
  in_use_since_.clear();
  plugin_.reset();
  nri::PluginOptions options = settings_.runtime;
  if (settings_.only_ends) options.lost = "unprepare releases devices without checking running pods";
  plugin_ = std::make_unique<nri::Plugin>(ports_.scheduler, ports_.random, ports_.log, ports_.dial,
                                          std::move(options), sandboxes_);
}

bool Interfaces::requires_interface(const PreparedDevice& device) const {
  return settings_.only_ends ? has_network(device) : !device.is_admin && device.config.requires_interface();
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
                                    [this](const PreparedDevice& one) { return requires_interface(one); });
  if (wanting == claim.devices.end() || is_connected()) return "";
  if (std::all_of(claim.devices.begin(), claim.devices.end(), [&](const PreparedDevice& device) {
        return !requires_interface(device) || is_attached(claim, device);
      }))
    return "";
  was_needed_ = true;
  const std::string& definition = wanting->config.nad_name;
  return (definition.empty() ? "network is set" : "netAttachDefName is " + in_quotes(definition, 64)) +
         ", and the container runtime, which reports the start of pods, is not connected (NRI: " +
         (plugin_ ? plugin_->link().why_not : "not begun") + "): enable NRI in the runtime and let " +
         escaped(settings_.runtime.socket) + " be its socket (--nri-socket-path), or " +
         (settings_.only_ends ? "delete its pod" : "run with --configuration-mode MULTUS") +
         "; the kubelet retries";
}

Interfaces::Connection Interfaces::connection() const {
  if (settings_.only_ends) return Connection::kUnused;
  if (is_connected()) return Connection::kConnected;
  return plugin_ && plugin_->link().has_failed ? Connection::kFailed : Connection::kPending;
}

std::string Interfaces::connection_problem(bool is_needed_by_policy) const {
  if (connection() != Connection::kFailed) return "";
  const auto needs_it = [this](const PreparedDevice& device) { return requires_interface(device); };
  const PreparedClaims& prepared = prepared_();
  const bool is_needed =
      is_needed_by_policy || was_needed_ ||
      std::any_of(prepared.begin(), prepared.end(), [&](const auto& claim) {
        return std::any_of(claim.second.devices.begin(), claim.second.devices.end(), needs_it);
      });
  if (!is_needed) return "";
  return "no NRI: pods with interfaces do not start (" + plugin_->link().why_not +
         "): enable NRI in the container runtime and let " + escaped(settings_.runtime.socket) +
         " be its socket (--nri-socket-path), or run with --configuration-mode MULTUS";
}

bool Interfaces::runs(const cni::Attachment& attachment) const {
  if (is_connected() || sandboxes_.running().contains(attachment.container_id))
    return sandboxes_.running().contains(attachment.container_id);
  return ::access(attachment.network_namespace.c_str(), F_OK) == 0;
}

std::string Interfaces::in_use(const PreparedClaim& claim) {
  const std::string why_not = plugin_ ? plugin_->link().why_not : "not begun";
  if (!is_connected() && !(plugin_ && plugin_->link().has_failed))
    return "the container runtime has not reported yet which pods run (NRI: " + why_not +
           "); the kubelet retries";
  const auto text = [&](const std::string& pod) {
    return "pod " + pod + " runs and has its devices: it is released when the sandbox of that pod ends" +
           (is_connected() ? "" : " (the container runtime is not connected, NRI: " + why_not + ")");
  };
  if (const auto pod = sandboxes_.running().user_of(claim)) {
    const auto now = ports_.scheduler.now();
    const auto [since, is_new] = in_use_since_.try_emplace(key_of(claim), now);
    if (is_connected() && !pod->has_file && now - since->second >= kAskAgain)
      ask_again_ = ports_.scheduler.after(Millis{0}, [this] { connect(); });
    return text(pod->name);
  }
  in_use_since_.erase(key_of(claim));
  if (is_connected()) return "";
  for (const auto& [name, kept] : attachments_.all())
    for (const PreparedDevice& device : claim.devices)
      if (!kept.is_leaving && is_of(kept.record.attachment, claim, device) && runs(kept.record.attachment))
        return text(pod_of(kept.record.attachment));
  return "";
}

std::string Interfaces::held_elsewhere(const PreparedClaim& claim) const {
  for (const auto& [name, kept] : attachments_.all())
    for (const PreparedDevice& device : claim.devices) {
      const cni::Attachment& attachment = kept.record.attachment;
      if (device.is_admin || device.pci.empty() || attachment.device != device.pci || kept.is_leaving)
        continue;
      const bool is_own = std::any_of(claim.pods.begin(), claim.pods.end(), [&](const ReservingPod& pod) {
        return pod.uid == pod_uid_of(attachment);
      });
      if (!is_own && runs(attachment))
        return "device " + escaped(device.pool + "/" + device.device) + " is in use: pod " +
               pod_of(attachment) + " runs and has its interface " + escaped(attachment.interface) +
               "; it can be had when the sandbox of that pod has ended";
    }
  return "";
}

bool Interfaces::is_attached(const PreparedClaim& claim, const PreparedDevice& device) const {
  return std::any_of(attachments_.all().begin(), attachments_.all().end(), [&](const auto& one) {
    return one.second.is_attached() && is_of(one.second.record.attachment, claim, device);
  });
}

bool Interfaces::may_be_in_pod(const PreparedClaim& claim, const PreparedDevice& device) const {
  return settings_.only_ends ||
         std::any_of(attachments_.all().begin(), attachments_.all().end(),
                     [&](const auto& one) { return is_of(one.second.record.attachment, claim, device); });
}

bool Interfaces::has_moved(const PreparedClaim& claim, const PreparedDevice& device) const {
  return std::any_of(attachments_.all().begin(), attachments_.all().end(), [&](const auto& one) {
    const cni::Record& record = one.second.record;
    return one.second.is_attached() && record.host_interface && record.host_interface->ifindex_in_pod != 0 &&
           is_of(record.attachment, claim, device);
  });
}

// Compares the claim with the other claims of each of its pods. Claims that are prepared at the same time are compared
// when the pod's sandbox starts.
std::string Interfaces::route_conflict(const PreparedClaim& claim) const {
  const auto own = interfaces_of(claim);
  if (own.empty()) return "";
  if (std::string why = default_route_conflict(own); !why.empty()) return why;
  for (const ReservingPod& pod : claim.pods) {
    auto all = interfaces_of(prepared_(), pod.uid);
    std::erase_if(all, [&](const RequiredInterface& one) { return one.claim == key_of(claim); });
    if (all.empty()) continue;
    all.insert(all.end(), own.begin(), own.end());
    if (std::string why = default_route_conflict(all); !why.empty()) return why;
  }
  return "";
}

kube::CallPtr Interfaces::read_networks(PreparedClaim claim, std::vector<KnownEntry> known,
                                        std::function<void(Result<PreparedClaim>)> done) {
  struct AsItIs final : kube::Call {
    reactor::Ticket turn;
  };
  if (!settings_.only_ends)
    return kubelet::read_networks(
        ports_.cluster, ports_.scheduler, std::move(claim), std::move(known), settings_.networks,
        [this, done = std::move(done)](Result<PreparedClaim> read) {
          if (!read) return done(std::move(read));
          const std::string why = route_conflict(*read);
          done(why.empty() ? std::move(read) : Result<PreparedClaim>(Error{Errc::kInvalid, why}));
        });
  auto call = std::make_unique<AsItIs>();
  call->turn =
      ports_.scheduler.after(Millis{0}, [claim = std::move(claim), done = std::move(done)]() mutable {
        const auto then = std::move(done);  // the call may be dropped by it
        const bool is_native =
            std::any_of(claim.devices.begin(), claim.devices.end(),
                        [](const PreparedDevice& one) { return one.config.network && one.network.empty(); });
        if (is_native)
          return then(Error{
              Errc::kInvalid,
              "network is set in a VfConfig, and this node runs with --configuration-mode MULTUS, where "
              "Multus attaches: leave out network, or run with STANDALONE"});
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
