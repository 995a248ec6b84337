#include "kubelet/interfaces/sandboxes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "kubelet/interfaces/default_routes.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

constexpr Millis kLastWord{50};    // before the deadline, for a reason of our own
constexpr Millis kNodesAgain{50};  // between two reads of device nodes that are missing

std::string named(const nri::PodSandbox& pod) {
  return "pod " + escaped(pod.namespace_name) + "/" + escaped(pod.name);
}

std::string named(const RequiredInterface& wanted) {
  return "interface " + escaped(wanted.interface) + " of " + wanted.claim_text + " (device " +
         escaped(wanted.device) + ")";
}

// Returns the uids of the pods.
std::set<std::string> pods_of(const PreparedClaims& prepared) {
  std::set<std::string> out;
  for (const auto& [key, claim] : prepared)
    for (const ReservingPod& pod : claim.pods) out.insert(pod.uid);
  return out;
}

// The sandbox's id names a file, the pod's uid and name are kept in the checkpoint: checked before anything
// is kept.
Result<Unit> check(const nri::PodSandbox& pod) {
  constexpr size_t kNameMax = 253;
  const auto invalid = [&](const char* field, const std::string& value, const char* expected) {
    return Error{Errc::kInvalid, "pod sandbox " + in_quotes(pod.id, 64) + ": " + field + " is " +
                                     in_quotes(value, 64) + ", expected " + expected};
  };
  if (!cni::is_cni_name(pod.id)) return invalid("id", pod.id, "1 to 128 letters, digits and _ . -");
  if (!cni::is_cni_name(pod.uid)) return invalid("uid", pod.uid, "1 to 128 letters, digits and _ . -");
  if (pod.name.size() > kNameMax) return invalid("name", pod.name, "at most 253 bytes");
  return Unit{};
}

bool may_run(const nri::Container& container) { return container.state != nri::ContainerState::kStopped; }

}  // namespace

// The attachment of a sandbox's missing interfaces.
struct Sandboxes::SandboxSetup {
  nri::PodSandbox pod;
  std::optional<nri::Reply> reply;
  TimePoint deadline{};
  std::vector<RequiredInterface> missing;
  std::vector<std::optional<Millis>> took = {};  // by interface, successful or not; nullopt: in progress
  bool is_run = false;
  bool is_taken_down = false;
  size_t to_undo = 0;
  std::string why;  // it fails
  reactor::Ticket last_word = {};
  std::shared_ptr<RunningSandboxes> ends_in = {};  // where it ends with a refusal; null: it runs on
  std::shared_ptr<HookTime> hook_time = {};
  reactor::Scheduler* scheduler = nullptr;
  TimePoint begun{};

  size_t left() const { return static_cast<size_t>(std::count(took.begin(), took.end(), std::nullopt)); }

  // Returns the text about a sandbox whose interfaces took too long. sliced has 90 % of the runtime's timeout
  // (nri::Plugin).
  std::string times() const {
    Millis sum{0};
    std::string all;
    for (size_t i = 0; i < missing.size(); ++i) {
      const Millis so_far = std::chrono::duration_cast<Millis>(scheduler->now() - begun);
      sum += took[i].value_or(so_far);
      all += (all.empty() ? "" : ", ") + escaped(missing[i].interface) + " (device " +
             escaped(missing[i].device) + ") " + (took[i] ? "" : "more than ") +
             std::to_string(took[i].value_or(so_far).count()) + " ms";
    }
    const int64_t given = std::chrono::duration_cast<Millis>(deadline - begun).count() * 10 / 9;
    return "; the concurrent attachments took: " + all + "; together " + std::to_string(sum.count()) +
           " ms; the container runtime waits " + std::to_string(given) +
           " ms: choose plugins that are faster, or set plugin_request_timeout of containerd " +
           "(nri_plugin_request_timeout of CRI-O) to " + std::to_string((2 * given + 999) / 1'000) +
           "s or more";
  }

  // The time counts up to the deadline, at which the runtime stops waiting.
  void refuse() {
    const TimePoint now = std::min(scheduler->now(), deadline);
    if (reply)
      hook_time->record_failure(pod.namespace_name, std::chrono::duration_cast<Millis>(now - begun), why,
                                now);
    const bool is_refused = reply && reply->refuse({Errc::kIo, why});
    if (is_refused && ends_in) ends_in->end(pod.id);
    reply.reset();
    last_word.reset();
  }
};

Sandboxes::Sandboxes(SandboxPorts ports, std::function<const PreparedClaims&()> prepared, Handlers handlers)
    : ports_(ports), prepared_(std::move(prepared)), handlers_(std::move(handlers)) {}
Sandboxes::~Sandboxes() = default;

std::vector<RequiredInterface> Sandboxes::missing_of(const nri::PodSandbox& pod) const {
  auto wanted = interfaces_of(prepared_(), pod.uid);
  std::erase_if(wanted, [&](const RequiredInterface& one) {
    const cni::Record record = record_of(one, pod);
    const auto* kept = ports_.attachments.find(record.attachment);
    return kept != nullptr && kept->is_attached() && are_of_one(kept->record, record);
  });
  return wanted;
}

std::string Sandboxes::clash_in(const nri::PodSandbox& pod,
                                const std::vector<RequiredInterface>& missing) const {
  std::map<std::string_view, std::string> owners;
  for (const RequiredInterface& one : missing) {
    const cni::Record record = record_of(one, pod);
    const auto* kept = ports_.attachments.find(record.attachment);
    const bool is_others = kept != nullptr && !are_of_one(kept->record, record);
    const auto [at, is_first] =
        owners.try_emplace(one.interface, is_others ? kept->record.owner : record.owner);
    if (is_first && !is_others) continue;
    return named(one) + " cannot be attached: the pod has an interface of that name, of " +
           escaped(at->second, 256) + "; set a different ifName in each VfConfig";
  }
  return default_route_conflict(interfaces_of(prepared_(), pod.uid));
}

Result<Unit> Sandboxes::record_pod(const nri::PodSandbox& pod, const nri::Container& container) {
  if (pod.uid.empty() || !handlers_.on_pod) return Unit{};
  const auto claims = claims_used(prepared_(), container.cdi_devices);
  if (claims.empty()) return Unit{};
  if (auto good = check(pod); !good) return good;
  for (const PreparedKey& key : claims) {
    const auto& pods = prepared_().at(key).pods;
    if (std::none_of(pods.begin(), pods.end(), [&](const ReservingPod& one) { return one.uid == pod.uid; }))
      handlers_.on_pod(key, {pod.name, pod.uid});
  }
  return Unit{};
}

// ---- up

void Sandboxes::run_pod_sandbox(nri::PodSandbox pod, nri::Reply reply) {
  running_->run(pod);
  set_up(std::move(pod), std::move(reply), true);
}

void Sandboxes::create_container(nri::PodSandbox pod, nri::Container container, nri::Reply reply) {
  if (const auto learned = record_pod(pod, container); !learned) {
    reply.refuse(learned.error());
    return;
  }
  running_->create(pod, container);
  set_up(std::move(pod), std::move(reply), false);
}

void Sandboxes::set_up(nri::PodSandbox pod, nri::Reply reply, bool is_run) {
  auto missing = missing_of(pod);
  if (missing.empty()) return agree_with_nodes(pod, std::move(reply), is_run);
  const auto refuse = [&](const std::string& why) {
    if (reply.refuse({Errc::kInvalid, why}) && is_run) running_->end(pod.id);
  };
  if (const auto good = check(pod); !good) return refuse(good.error().what);
  for (const RequiredInterface& one : missing)
    if (!one.refusal.empty()) {
      log_rejected(pod, one.refusal);
      return refuse(named(one) + ": " + one.refusal);
    }
  if (pod.network_namespace.empty())
    return refuse(named(missing.front()) + " cannot be attached: " + named(pod) +
                  " has no network namespace of its own (hostNetwork); leave out hostNetwork, or "
                  "netAttachDefName");
  if (const std::string why = clash_in(pod, missing); !why.empty()) {
    log_rejected(pod, why);
    return refuse(why);
  }
  if (const std::string why = ports_.hook_time->refusal(pod.namespace_name, ports_.scheduler.now());
      !why.empty())
    return refuse(named(pod) + ": interfaces not attached: " + why);
  auto setup = std::make_shared<SandboxSetup>(
      SandboxSetup{.pod = std::move(pod), .deadline = reply.deadline(), .missing = std::move(missing)});
  setup->is_run = is_run;
  if (is_run) setup->ends_in = running_;
  setup->hook_time = ports_.hook_time;
  setup->scheduler = &ports_.scheduler;
  setup->begun = ports_.scheduler.now();
  setup->reply = std::move(reply);
  setup->took.resize(setup->missing.size());
  setup->last_word = ports_.scheduler.after(
      std::chrono::duration_cast<Millis>(setup->deadline - ports_.scheduler.now()) - kLastWord,
      [setup = std::weak_ptr(setup)] {
        const auto late = setup.lock();
        if (!late) return;
        if (late->why.empty())
          late->why = late->left() == 0 ? "the device nodes of " + named(late->pod) + " are not known in time"
                                        : "the interfaces of " + named(late->pod) + " are not there in time" +
                                              late->times();
        late->refuse();
      });
  attach_all(setup);
}

// The kubelet creates another sandbox every few seconds. A problem that differs only in the sandbox's name is
// the same problem.
void Sandboxes::log_rejected(const nri::PodSandbox& pod, const std::string& why) {
  std::string problem = why;
  for (const std::string& own : {pod.id, pod.network_namespace})
    for (size_t at = 0; !own.empty() && (at = problem.find(own, at)) != std::string::npos;)
      problem.erase(at, own.size());
  if (rejections_.is_new(pod.uid, problem))
    ports_.log.warning("pod sandbox rejected: its network interfaces could not be attached",
                       {{"pod", named(pod)}, {"sandbox", pod.id}, {"problem", why}});
}

void Sandboxes::attach_all(const std::shared_ptr<SandboxSetup>& setup) {
  for (size_t i = 0; i < setup->missing.size(); ++i)
    ports_.attachments.attach(record_of(setup->missing[i], setup->pod), setup->deadline - kLastWord,
                              [this, setup, i, alive = std::weak_ptr(life_)](Result<cni::Attached> made) {
                                if (!alive.expired()) attached(setup, i, std::move(made));
                              });
}

void Sandboxes::attached(const std::shared_ptr<SandboxSetup>& setup, size_t index,
                         Result<cni::Attached> made) {
  const RequiredInterface& one = setup->missing[index];
  setup->took[index] = std::chrono::duration_cast<Millis>(ports_.scheduler.now() - setup->begun);
  if (setup->is_taken_down) return;
  if (!made) {
    const std::string times = made.error().code == Errc::kTimeout ? setup->times() : "";
    return tear_down(setup, named(one) + ": " + made.error().what + times);
  }
  ports_.log.info("interface attached", {{"pod", named(setup->pod)},
                                         {"sandbox", setup->pod.id},
                                         {"interface", one.interface},
                                         {"device", one.device},
                                         {"claim", one.claim_text}});
  handlers_.on_attached({one, setup->pod.id, *made});
  if (setup->left() > 0) return;
  refresh_nodes(setup->pod.uid, setup->is_run, setup->deadline - kLastWord,
                [this, setup](const Result<Unit>& compared) { end_setup(setup, compared); });
}

void Sandboxes::refresh_nodes(const std::string& pod_uid, bool is_run, TimePoint until, OnNodes done) {
  if (!handlers_.refresh_nodes) return done(Unit{});
  handlers_.refresh_nodes(pod_uid, is_run,
                          [this, alive = std::weak_ptr(life_), pod_uid, is_run, until,
                           done = std::move(done)](Result<Unit> compared) mutable {
                            if (alive.expired()) return;
                            const bool is_missing = !compared && compared.error().code == Errc::kBusy;
                            if (!is_missing || ports_.scheduler.now() + kNodesAgain >= until)
                              return done(std::move(compared));
                            const size_t number = next_node_turn_++;
                            node_turns_[number] = ports_.scheduler.after(
                                kNodesAgain, [this, number, pod_uid, is_run, until, done = std::move(done)] {
                                  const reactor::Ticket own = std::move(node_turns_.extract(number).mapped());
                                  refresh_nodes(pod_uid, is_run, until, done);
                                });
                          });
}

void Sandboxes::agree_with_nodes(const nri::PodSandbox& pod, nri::Reply reply, bool is_run) {
  const TimePoint until = reply.deadline() - kLastWord;
  refresh_nodes(pod.uid, is_run, until,
                [this, pod, is_run,
                 reply = std::make_shared<nri::Reply>(std::move(reply))](const Result<Unit>& compared) {
                  if (compared) {
                    reply->agree();
                    return;
                  }
                  const std::string why = named(pod) + ": " + compared.error().what;
                  log_rejected(pod, why);
                  if (reply->refuse({Errc::kIo, why}) && is_run) running_->end(pod.id);
                });
}

void Sandboxes::end_setup(const std::shared_ptr<SandboxSetup>& setup, const Result<Unit>& compared) {
  if (!compared) return tear_down(setup, compared.error().what);
  setup->last_word.reset();
  if (!setup->reply || !setup->reply->agree())
    return tear_down(setup,
                     "the runtime did not wait for the interfaces of " + named(setup->pod) + " any more");
  if (const size_t rejected = rejections_.end(setup->pod.uid); rejected > 0)
    ports_.log.info("pod sandbox accepted after it was rejected",
                    {{"pod", named(setup->pod)}, {"sandbox", setup->pod.id}, {"rejected", rejected}});
}

// Detaches the interfaces of this call, then refuses it, at its deadline at the latest.
void Sandboxes::tear_down(const std::shared_ptr<SandboxSetup>& setup, const std::string& why) {
  setup->is_taken_down = true;
  setup->why = why;
  log_rejected(setup->pod, why);
  std::vector<cni::Attachment> made;
  for (const RequiredInterface& one : setup->missing) {
    cni::Record record = record_of(one, setup->pod);
    const auto* kept = ports_.attachments.find(record.attachment);
    if (kept == nullptr || are_of_one(kept->record, record)) made.push_back(std::move(record.attachment));
  }
  setup->to_undo = made.size();
  if (made.empty()) return setup->refuse();
  for (const cni::Attachment& one : made)
    ports_.attachments.detach(one, [setup](const Result<Unit>&) {
      if (--setup->to_undo == 0) setup->refuse();
    });
}

// ---- down

void Sandboxes::stop_pod_sandbox(nri::PodSandbox pod, nri::Reply reply) { detach_all(pod, std::move(reply)); }

void Sandboxes::remove_pod_sandbox(nri::PodSandbox pod, nri::Reply reply) {
  detach_all(pod, std::move(reply));
}

void Sandboxes::detach_all(const nri::PodSandbox& pod, nri::Reply reply) {
  running_->end(pod.id);
  forget_trouble([&](const std::string& sandbox) { return sandbox == pod.id; });
  const auto attachments = ports_.attachments.of_sandbox(pod.id);
  if (attachments.empty()) {
    reply.agree();
    return;
  }
  struct Lowering {
    std::optional<nri::Reply> reply;
    TimePoint begun, deadline;
    size_t left;
    std::string problem = {};
  };
  const TimePoint begun = ports_.scheduler.now(), deadline = reply.deadline();
  auto lowering = std::make_shared<Lowering>(Lowering{std::move(reply), begun, deadline, attachments.size()});
  if (const std::string why = ports_.hook_time->refusal(pod.namespace_name, begun); !why.empty()) {
    lowering->reply->refuse({Errc::kIo, "the interfaces of " + named(pod) + " are being undone: " + why});
    lowering->reply.reset();
  }
  // Where it waits for plugins of other namespaces, the time is not its own.
  const bool is_own_time = ports_.attachments.has_room_for_del();
  const auto answer = [lowering, is_own_time, hook_time = ports_.hook_time, scheduler = &ports_.scheduler,
                       namespace_name = pod.namespace_name] {
    if (!lowering->reply) return;
    const TimePoint now = scheduler->now();
    const bool is_late = now >= lowering->deadline;  // the runtime has been refused in our name
    const auto took = std::chrono::duration_cast<Millis>(std::min(now, lowering->deadline) - lowering->begun);
    if (is_own_time && (is_late || !lowering->problem.empty()))
      hook_time->record_failure(namespace_name, took,
                                lowering->problem.empty() ? "DEL took longer" : lowering->problem, now);
    if (lowering->problem.empty())
      lowering->reply->agree();
    else
      lowering->reply->refuse({Errc::kIo, lowering->problem + "; it is tried again"});
  };
  for (const cni::Attachment& one : attachments)
    ports_.attachments.detach(one, [lowering, answer](const Result<Unit>& undone) {
      if (!undone) lowering->problem = undone.error().what;
      if (--lowering->left == 0) answer();
    });
}

// ---- changes while NRI was not connected

void Sandboxes::synchronize(std::vector<nri::PodSandbox> pods, std::vector<nri::Container> containers,
                            nri::Reply reply) {
  running_->replace(pods, containers);
  std::map<std::string, const nri::PodSandbox*> alive;  // their network namespace is there
  for (const nri::PodSandbox& pod : pods)
    if (!pod.network_namespace.empty()) alive[pod.id] = &pod;
  adopt(alive, containers);
  std::vector<cni::Attachment> left_behind;
  for (const auto& [name, kept] : ports_.attachments.all())
    if (!alive.contains(kept.record.attachment.container_id) || !kept.record.result)
      left_behind.push_back(kept.record.attachment);
  if (!left_behind.empty())
    ports_.log.info("detaching interfaces of ended or incomplete sandboxes",
                    {{"interfaces", left_behind.size()}});
  for (const cni::Attachment& one : left_behind) ports_.attachments.detach_later(one);
  forget_trouble([&](const std::string& sandbox) { return !alive.contains(sandbox); });

  // Most pods of a node have no claim of these drivers. One pass over all containers finds those that have.
  std::map<std::string_view, const nri::PodSandbox*> by_id;
  for (const nri::PodSandbox& pod : pods) by_id[pod.id] = &pod;
  std::vector<std::pair<const nri::PodSandbox*, const nri::Container*>> running;
  for (const nri::Container& container : containers)
    if (const auto pod = by_id.find(container.sandbox_id); pod != by_id.end() && may_run(container))
      running.emplace_back(pod->second, &container);
  for (const auto& [pod, container] : running)
    if (const auto learned = record_pod(*pod, *container); !learned)
      ports_.log.warning("pod of a prepared claim not recorded",
                         {{"container", container->id}, {"problem", learned.error().what}});
  const std::set<std::string> with_claims = pods_of(prepared_());
  for (const auto& [pod, container] : running) {
    if (!with_claims.contains(pod->uid)) continue;
    if (const auto missing = missing_of(*pod); !missing.empty()) report(*pod, missing, *container);
  }
  for (const auto& [id, pod] : alive)
    for (const RequiredInterface& wanted : with_claims.contains(pod->uid)
                                               ? interfaces_of(prepared_(), pod->uid)
                                               : std::vector<RequiredInterface>()) {
      const cni::Record record = record_of(wanted, *pod);
      const auto* kept = ports_.attachments.find(record.attachment);
      if (kept != nullptr && kept->is_attached() && are_of_one(kept->record, record))
        handlers_.on_attached({wanted, id, *kept->record.result});
    }
  reply.agree();
}

void Sandboxes::adopt(const std::map<std::string, const nri::PodSandbox*>& alive,
                      const std::vector<nri::Container>& containers) {
  const PreparedClaims& prepared = prepared_();
  const bool is_any = std::any_of(prepared.begin(), prepared.end(), [](const auto& one) {
    return std::any_of(one.second.devices.begin(), one.second.devices.end(),
                       [](const PreparedDevice& device) { return device.is_of_peer; });
  });
  if (!is_any) return;
  std::set<std::string> with_containers;
  for (const nri::Container& container : containers) with_containers.insert(container.sandbox_id);
  PeerNetworks networks;
  for (const auto& [key, claim] : prepared)
    for (const PreparedDevice& device : claim.devices)
      if (device.is_of_peer)
        networks.emplace(std::pair(key, device.device), network_of_peer(device, key.first));
  size_t adopted = 0;
  for (const auto& [id, pod] : alive)
    for (const RequiredInterface& wanted : interfaces_of(prepared, pod->uid)) {
      if (!wanted.is_of_peer) continue;
      cni::Record record = record_of_peer(wanted, *pod, with_containers.contains(id));
      const auto network = cni::decode_network(record.config, record.network);
      const auto good = network ? cni::check(record.attachment) : Result<Unit>(network.error());
      if (good) {
        ports_.attachments.adopt(std::move(record));
        ++adopted;
        continue;
      }
      ports_.log.warning("interface of dra-driver-sriov not adopted: no CNI DEL runs when its pod ends",
                         {{"pod", named(*pod)}, {"device", wanted.device}, {"problem", good.error().what}});
      networks[{wanted.claim, wanted.device}] = {};
    }
  ports_.log.info("interfaces of dra-driver-sriov adopted", {{"interfaces", adopted}});
  if (handlers_.on_adopted) handlers_.on_adopted(networks);
}

void Sandboxes::report(const nri::PodSandbox& pod, const std::vector<RequiredInterface>& missing,
                       const nri::Container& container) {
  bool is_new = false;
  for (const RequiredInterface& one : missing) {
    const std::string text = "container " + escaped(container.name) + " of " + named(pod) +
                             " was created without " + named(one) +
                             " while the container runtime had dropped us: delete the pod";
    const auto [at, added] =
        troubles_.try_emplace({one.claim.first, one.pool, one.device}, Trouble{pod.id, text});
    if (!added) continue;
    is_new = true;
    ports_.log.error("container runs without its network interface",
                     {{"sandbox", pod.id}, {"container", container.id}, {"problem", text}});
  }
  if (is_new) handlers_.on_trouble();
}

void Sandboxes::forget_trouble(const std::function<bool(const std::string&)>& is_gone) {
  if (std::erase_if(troubles_, [&](const auto& one) { return is_gone(one.second.sandbox_id); }) > 0)
    handlers_.on_trouble();
}

std::string Sandboxes::trouble_of(const std::string& driver, const std::string& pool,
                                  const std::string& device) const {
  const auto at = troubles_.find({driver, pool, device});
  return at == troubles_.end() ? "" : at->second.text;
}

}  // namespace sliced::kubelet
