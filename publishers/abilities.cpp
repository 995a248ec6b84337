#include "publishers/abilities.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kube/objects/kinds.h"
#include "kube/objects/names.h"
#include "kube/objects/resource_slice.h"
#include "reactor/base/text.h"

namespace sliced::publishers {
namespace {

// Never stored. Its pool is the node's, because the admission policy that we install lets this node write no other.
kube::ResourceSlice probe_slice(const std::string& driver, const std::string& node) {
  kube::ResourceSlice slice;
  slice.meta.name = "probe-" + hex(stable_hash(driver + "/" + node), 16);
  slice.driver = driver;
  slice.node_name = node;
  slice.pool = {node, 1, 1};
  return slice;
}

// What must be stored as it is sent, one slice after the other.
std::vector<kube::ResourceSlice> probes_of(Ability ability, const std::string& driver,
                                           const std::string& node) {
  kube::ResourceSlice slice = probe_slice(driver, node), counters = slice;
  kube::Device device{.name = "probe"};
  const kube::Quantity one(1);
  switch (ability) {
    case Ability::kListAttributes:
      device.attributes = {{"dra.networking/probe", std::vector<std::string>{"a", "b"}}};
      break;
    case Ability::kCounters:
      device.consumes_counters = {{"probe", {{"probe", one}}}};
      counters.shared_counters = {{"probe", {{"probe", one}}}};
      break;
    case Ability::kSharedDevices:
      device.allow_multiple_allocations = true;
      device.capacity["dra.networking/probe"] = {one,
                                                 kube::RequestPolicy{.default_ = one, .valid_values = {one}}};
      break;
    case Ability::kSkipNodeOperations:
      slice.skip_node_operations = {std::string(kube::kAllNodeOperations)};
      break;
  }
  slice.devices.push_back(std::move(device));
  if (ability != Ability::kCounters) return {std::move(slice)};
  return {std::move(counters), std::move(slice)};
}

std::string_view name_of(Ability ability) {
  switch (ability) {
    case Ability::kListAttributes:
      return "list attributes";
    case Ability::kCounters:
      return "counters";
    case Ability::kSkipNodeOperations:
      return "skipped node operations";
    case Ability::kSharedDevices:
      break;
  }
  return "devices that are allocated several times";
}

}  // namespace

std::set<Ability> lost_abilities(const kube::ResourceSlice& sent, const kube::ResourceSlice& stored) {
  std::set<Ability> lost;
  if (sent.skip_node_operations != stored.skip_node_operations) lost.insert(Ability::kSkipNodeOperations);
  if (sent.shared_counters != stored.shared_counters) lost.insert(Ability::kCounters);
  std::map<std::string_view, const kube::Device*> by_name;
  for (const kube::Device& device : stored.devices) by_name.emplace(device.name, &device);
  for (const kube::DevicePtr& device : sent.devices) {
    const auto at = by_name.find(device->name);
    if (at == by_name.end()) continue;
    const kube::Device& kept = *at->second;
    if (device->consumes_counters != kept.consumes_counters) lost.insert(Ability::kCounters);
    if (device->allow_multiple_allocations && !kept.allow_multiple_allocations)
      lost.insert(Ability::kSharedDevices);
    for (const auto& [key, value] : device->attributes)
      if (kube::is_list(value) && !kept.attributes.contains(key)) lost.insert(Ability::kListAttributes);
  }
  return lost;
}

bool has_counting_scheduler(std::string_view git_version) {
  const auto version = kube::decode_git_version(git_version);
  return version && *version >= std::array<int64_t, 3>{1, 36, 2};
}

Abilities::Abilities(kube::Ports ports, std::string driver, std::string node, std::string scheduler_version,
                     std::function<void()> on_changed)
    : ports_(std::move(ports)),
      driver_(std::move(driver)),
      node_(std::move(node)),
      scheduler_version_(std::move(scheduler_version)),
      on_changed_(std::move(on_changed)),
      backoff_(ports_.random),
      other_servers_(ports_.random) {}

void Abilities::want(Ability ability) {
  const bool is_new = wanted_.try_emplace(ability).second;
  if (is_new && !give_up_ && !gave_up_)
    give_up_ = ports_.scheduler.after(kAnswerMax, [this] {
      give_up_.reset();
      if (settled()) return;
      gave_up_ = true;
      ports_.log.warning("what the API server can do is not known yet; until it is, it cannot", {});
      callbacks_.run(on_changed_);
    });
  if (next_to_probe() && !call_ && !retry_) ask_version();
}

bool Abilities::has(Ability ability) const {
  const auto at = wanted_.find(ability);
  return at != wanted_.end() && at->second.answer.value_or(false);
}

bool Abilities::settled() const {
  return gave_up_ || std::all_of(wanted_.begin(), wanted_.end(),
                                 [](const auto& entry) { return entry.second.answer.has_value(); });
}

void Abilities::lost(Ability ability) {
  Known& known = wanted_[ability];
  if (known.answer == std::optional(false)) return;
  known = {false, true};
  ports_.log.warning("the API server drops " + std::string(name_of(ability)), {{"server_version", version_}});
  callbacks_.run(on_changed_);
}

std::optional<Ability> Abilities::next_to_probe() const {
  for (const auto& [ability, known] : wanted_)
    if (!known.is_current) return ability;
  return std::nullopt;
}

void Abilities::server_may_have_changed() {
  if (!wanted_.empty() && !call_ && !retry_) ask_version();
}

void Abilities::ask_version() {
  call_ = ports_.cluster.server_info(
      [this](kube::ServerInfo info) {
        call_.reset();
        if (info.git_version == version_) return go_on();
        for (auto& [ability, known] : wanted_) known.is_current = false;
        version_ = std::move(info.git_version);
        meet_another_server();
      },
      [this](const kube::Failure& failure) { retry(failure); });
}

// Behind one address there may be several, so that each answer is another one's.
void Abilities::meet_another_server() {
  const TimePoint now = ports_.scheduler.now();
  if (now < not_before_) {
    // What the version says costs no request.
    if (wanted_.contains(Ability::kCounters) && !is_counting()) note(Ability::kCounters, false);
    retry_ = ports_.scheduler.after(not_before_ - now, [this] {
      retry_.reset();
      ask_version();
    });
    return tell();
  }
  not_before_ = now + other_servers_.next(now);
  go_on();
}

void Abilities::go_on() {
  const auto next = next_to_probe();
  if (!next) return;
  if (*next == Ability::kCounters && !is_counting()) return conclude(*next, false);
  probe(*next, 0);
}

void Abilities::probe(Ability ability, size_t step) {
  const auto probes = probes_of(ability, driver_, node_);
  const kube::ResourceSlice& sent = probes[step];
  call_ = ports_.cluster.write(
      {.verb = kube::Verb::kCreate,
       .resource = kube::kResourceSlices,
       .name = sent.meta.name,
       .body = kube::encode_json(kube::encode_resource_slice(sent)),
       .dry_run = true},
      {.on_done =
           [this, ability, step, sent, is_last = step + 1 == probes.size()](std::string_view object) {
             const auto json = kube::decode_json(object);
             const auto stored =
                 json ? kube::decode_resource_slice(*json) : Result<kube::ResourceSlice>(json.error());
             if (!stored || stored->meta.name != sent.meta.name)
               return retry({.what = "the answer to a dry run is not about it"});
             const bool is_same = stored->devices == sent.devices &&
                                  stored->shared_counters == sent.shared_counters &&
                                  stored->skip_node_operations == sent.skip_node_operations;
             if (!is_same || is_last) return conclude(ability, is_same);
             probe(ability, step + 1);
           },
       .on_failure =
           [this, ability](const kube::Failure& failure) {
             // An admission policy or webhook judges for other reasons than whether the server has the field. Both say so in
             // these words (k8s.io/apiserver: plugin/policy/validating, plugin/webhook/errors).
             const bool is_of_admission = failure.what.find("denied request") != std::string::npos ||
                                          failure.what.find("denied the request") != std::string::npos;
             if (is_of_admission && denied_ != failure.what)
               ports_.log.warning("unknown what the API server takes: admission control refuses the question",
                                  {{"problem", failure.what}});
             denied_ = is_of_admission ? failure.what : "";
             // Without a Status it is somebody else's word, and without a field of the slice about something else.
             const bool is_of_field =
                 failure.what.find("spec.") != std::string::npos ||
                 std::any_of(failure.fields.begin(), failure.fields.end(),
                             [](const std::string& field) { return field.starts_with("spec"); });
             if (failure.code == Errc::kInvalid && !failure.reason.empty() && is_of_field && !is_of_admission)
               return conclude(ability, false);
             retry(failure);
           }});
}

bool Abilities::is_counting() const {
  return has_counting_scheduler(scheduler_version_.empty() ? version_ : scheduler_version_);
}

void Abilities::conclude(Ability ability, bool able) {
  call_.reset();
  backoff_.reset();
  note(ability, able);
  if (next_to_probe()) return go_on();
  tell();
}

void Abilities::note(Ability ability, bool able) {
  is_changed_ |= std::exchange(wanted_[ability], Known{able, true}).answer != std::optional(able);
  ports_.log.info(std::string(able ? "the API server takes " : "the API server takes no ") +
                      std::string(name_of(ability)),
                  {{"server_version", version_}});
}

void Abilities::tell() {
  if (std::exchange(is_changed_, false)) callbacks_.run(on_changed_);
}

void Abilities::retry(const kube::Failure& failure) {
  call_.reset();
  ports_.log.debug("what the API server can do is not known yet", {{"problem", failure.what}});
  retry_ = ports_.scheduler.after(backoff_.next(ports_.scheduler.now()), [this] {
    retry_.reset();
    ask_version();
  });
}

}  // namespace sliced::publishers
