#include "kubectl/fleet/followed_fleet.h"

#include <algorithm>
#include <utility>

#include "kube/client/credentials.h"
#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"
#include "kubectl/fleet/fleet_reading.h"
#include "kubectl/why/claim.h"
#include "reactor/signal.h"
#include "watchers/watched_source.h"

namespace sliced::kubectl {
namespace {

using watchers::SyncState;

constexpr Millis kFirstMax{120'000};                   // for the lists
constexpr size_t kFollowedBytesMax = size_t{4} << 30;  // as ClusterObjects
constexpr size_t kObjectsMax = 500'000;

template <class T>
Result<T> decoded(std::string_view text, Result<T> (*decode)(const kube::Json&)) {
  const auto object = kube::decode_json(text, kube::kSliceLimits);
  return object ? decode(*object) : Result<T>(object.error());
}

Result<kube::NodeView> followed_node(const kube::Json& object) {
  auto meta = kube::decode_object_meta(object);
  if (!meta) return std::move(meta.error());
  return kube::NodeView{meta->name, {meta->labels.begin(), meta->labels.end()}};
}
Result<reports::NodeLease> followed_lease(const kube::Json& object) {
  auto lease = reports::decode_node_lease(object);
  return lease ? *std::move(lease) : reports::NodeLease{};  // another Lease
}
Result<FleetClaim> followed_claim(const kube::Json& object) {
  auto claim = why::decode_claim(object);
  return claim ? Result<FleetClaim>(fleet_claim(*claim)) : Result<FleetClaim>(std::move(claim.error()));
}
Result<FleetReport> followed_report(const kube::Json& object) {
  auto report = reports::decode_node_report(object);
  return report ? Result<FleetReport>(fleet_report(*report)) : Result<FleetReport>(std::move(report.error()));
}

kube::Scope scope_of(const kube::Resource& resource, bool metadata_only = false,
                     const std::string& namespace_ = "") {
  return {
      .resource = resource, .namespace_ = namespace_, .field_selector = "", .metadata_only = metadata_only};
}
// Lists of watched objects may leave out their kind.
template <const kube::Resource* kResource>
Result<FleetPolicy> followed_policy(const kube::Json& object) {
  kube::Json named = object;
  named.set("kind", kResource->kind);
  return decode_fleet_policy(named);
}
std::string name_of_policy(const kube::Resource& kind, const auto& id) {
  return kind.namespaced ? id.namespace_ + "/" + id.name : id.name;
}

}  // namespace

// One kind of objects, kept equal in the fleet.
template <class T>
struct FollowedFleet::How {
  using Id = typename watchers::Watched<T>::Id;
  Result<T> (*decode)(const kube::Json&);
  std::function<void(Fleet&, T)> put;
  std::function<void(Fleet&, const Id&)> remove;
  std::function<void(Fleet&)> clear;
  bool is_shown = true;  // false: shown values change only in judge()
};

template <class T>
void FollowedFleet::follow(const kube::ClusterPorts& ports, kube::Scope scope, const How<T>& how) {
  using Source = watchers::WatchedSource<T>;
  using Item = typename Source::Item;
  const auto put = [this, how](const Item& item) {
    if (item.value)
      how.put(fleet_, *item.value);
    else
      how.remove(fleet_, item.id);
  };
  const auto take = [this, how, put](const SourceEvent<Item>& event) {
    if (how.is_shown) ++moment_;
    if (const auto* list = std::get_if<Relisted<Item>>(&event)) {
      how.clear(fleet_);
      for (const Item& item : list->all) put(item);
    } else if (const auto* changed = std::get_if<Changed<Item>>(&event)) {
      put(changed->now);
    } else if (const auto* removed = std::get_if<Removed<Item>>(&event)) {
      how.remove(fleet_, removed->id);
    }
  };
  watchers::ListWatchLimits limits;
  limits.list_bytes_max = kFollowedBytesMax;
  limits.objects_max = kObjectsMax;
  const kube::Resource kind = scope.resource;
  sources_.push_back({kind, nullptr});
  sources_.back().source = std::make_unique<Source>(
      ports, std::move(scope), [how](std::string_view text) { return decoded(text, how.decode); }, take,
      typename Source::OnSyncState([this](const SyncState&) {
        ++moment_;
        note_known();
      }),
      typename Source::KeepMissing{}, limits);
}

FollowedFleet::FollowedFleet(const kube::ClusterPorts& ports, const std::set<std::string>& drivers,
                             const std::string& namespace_)
    : cluster_(ports.cluster), scheduler_(ports.scheduler), fleet_(drivers), namespace_(namespace_) {
  follow(ports, scope_of(kube::kNodes, /*metadata_only=*/true),
         How<kube::NodeView>{followed_node,
                             [](Fleet& fleet, kube::NodeView node) { fleet.put_node(std::move(node)); },
                             [](Fleet& fleet, const auto& id) { fleet.remove_node(id.name); },
                             [](Fleet& fleet) { fleet.clear_nodes(); }});
  follow(ports, scope_of(kube::kResourceSlices),
         How<FleetSlice>{decode_fleet_slice,
                         [](Fleet& fleet, FleetSlice slice) { fleet.put_slice(std::move(slice)); },
                         [](Fleet& fleet, const auto& id) { fleet.remove_slice(id.name); },
                         [](Fleet& fleet) { fleet.clear_slices(); }});
  follow(ports, scope_of(kube::kResourceClaims),
         How<FleetClaim>{
             followed_claim, [](Fleet& fleet, FleetClaim claim) { fleet.put_claim(std::move(claim)); },
             [](Fleet& fleet, const auto& id) { fleet.remove_claim(id.namespace_ + "/" + id.name); },
             [](Fleet& fleet) { fleet.clear_claims(); }});
  follow(ports, scope_of(kube::kNodeDeviceReports),
         How<FleetReport>{followed_report,
                          [](Fleet& fleet, FleetReport report) { fleet.put_report(std::move(report)); },
                          [](Fleet& fleet, const auto& id) { fleet.remove_report(id.name); },
                          [](Fleet& fleet) { fleet.clear_reports(); }});
  follow_policies<&kube::kSriovResourcePolicies>(ports);
  follow_policies<&kube::kDeviceExposurePolicies>(ports);
  // Each daemon renews its lease every minute; for thousands of nodes that would cause permanent redraws.
  follow(ports, scope_of(kube::kLeases, /*metadata_only=*/false, namespace_),
         How<reports::NodeLease>{followed_lease,
                                 [](Fleet& fleet, reports::NodeLease lease) {
                                   if (!lease.node.empty()) fleet.put_lease(std::move(lease));
                                 },
                                 [](Fleet& fleet, const auto& id) {
                                   if (const std::string node = reports::node_of_lease(id.name);
                                       !node.empty())
                                     fleet.remove_lease(node);
                                 },
                                 [](Fleet& fleet) { fleet.clear_leases(); }, /*is_shown=*/false});
  for (const Followed& followed : sources_) followed.source->start();
  judge();
}

template <const kube::Resource* kResource>
void FollowedFleet::follow_policies(const kube::ClusterPorts& ports) {
  follow(ports, scope_of(*kResource, /*metadata_only=*/false, kResource->namespaced ? namespace_ : ""),
         How<FleetPolicy>{followed_policy<kResource>,
                          [](Fleet& fleet, FleetPolicy policy) { fleet.put_policy(std::move(policy)); },
                          [](Fleet& fleet, const auto& id) {
                            fleet.remove_policy(kResource->kind, name_of_policy(*kResource, id));
                          },
                          [](Fleet& fleet) { fleet.clear_policies(kResource->kind); }});
}

void FollowedFleet::judge() {
  update_clock();
  ++moment_;
  judging_ = scheduler_.after(kJudgeEvery, [this] { judge(); });
}

// The clock for daemons stops while Leases are not watched.
void FollowedFleet::update_clock() {
  if (sources_.back().source == nullptr) return;  // construction is not finished
  const TimePoint now = scheduler_.now();
  if (sources_.back().source->sync_state().state != SyncState::State::kLive) {
    if (std::exchange(is_lease_live_, false)) judges_from_ = TimePoint::max();
  } else if (!std::exchange(is_lease_live_, true) && judges_from_ == TimePoint::max()) {
    judges_from_ = now + kRenewAgain;
  }
  if (now >= judges_from_) fleet_.set_now(cluster_.server_time().value_or(kube::system_wall_clock()));
}

void FollowedFleet::note_known() {
  update_clock();
  for (const auto& [kind, source] : sources_) {
    if (source == nullptr) continue;
    const bool is_known = source->sync_state().known;
    if (kind == kube::kNodes) fleet_.set_knows_nodes(is_known);
    if (kind == kube::kResourceSlices) fleet_.set_knows_slices(is_known);
    if (kind == kube::kResourceClaims) fleet_.set_knows_claims(is_known);
    if (is_known && (kind == kube::kSriovResourcePolicies || kind == kube::kDeviceExposurePolicies))
      fleet_.set_knows_policies(kind.kind, kind.namespaced ? namespace_ : "");
  }
}

bool FollowedFleet::is_refused(const watchers::Source& source) const {
  const SyncState& sync = source.sync_state();
  return sync.state == SyncState::State::kDenied || sync.state == SyncState::State::kAbsent ||
         sync.is_unserved;
}

bool FollowedFleet::is_without(const watchers::Source& source) const {
  const SyncState& sync = source.sync_state();
  return is_refused(source) && (!sync.known || sync.state == SyncState::State::kAbsent);
}

bool FollowedFleet::is_whole() const {
  return refusal().empty() && std::ranges::all_of(sources_, [&](const Followed& one) {
           return one.source->sync_state().known || is_without(*one.source);
         });
}

std::string FollowedFleet::note() const {
  for (const auto& [kind, source] : sources_) {
    const SyncState& sync = source->sync_state();
    if (sync.state != SyncState::State::kLive && !is_without(*source))
      return std::string(describe(sync.state)) + (sync.why.empty() ? "" : ": " + sync.why);
  }
  return "";
}

std::vector<std::string> FollowedFleet::gaps() const {
  std::vector<std::string> out;
  for (const auto& [kind, source] : sources_)
    if (source->sync_state().state == SyncState::State::kDenied && !source->sync_state().known)
      out.push_back(std::string(lack_without(kind)) + ": " + source->sync_state().why);
  return out;
}

std::string FollowedFleet::refusal() const {
  std::string why;
  for (const auto& [kind, source] : sources_) {
    if (kind != kube::kNodes && kind != kube::kResourceSlices && kind != kube::kNodeDeviceReports) continue;
    if (!is_without(*source)) return "";
    if (why.empty() || kind == kube::kResourceSlices) why = source->sync_state().why;
  }
  return why;
}

int follow_fleet(const config::Options& options,
                 const std::function<Result<Unit>(daemon::Process&, const FollowedFleet&, bool&)>& show) {
  auto opened = daemon::Process::open(options);
  if (!opened) {
    daemon::print_error(opened.error().what);
    return daemon::kExitError;
  }
  daemon::Process& process = **opened;
  bool is_over = false;
  Result<Unit> shown = Unit{};
  {
    FollowedFleet followed(
        {*process.cluster, process.loop.scheduler(), *process.log, reactor::system_random()},
        {options.sriov_driver_name, options.exposure_driver_name}, options.namespace_);
    std::vector<std::unique_ptr<reactor::Signal>> signals;
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
      if (auto signal = reactor::Signal::open(process.loop, number, [&] { is_over = true; }))
        signals.push_back(std::move(*signal));
    process.run_until([&] { return is_over || followed.is_whole() || !followed.refusal().empty(); },
                      kFirstMax);
    if (!followed.refusal().empty())
      shown = Error{Errc::kDenied, followed.refusal()};
    else if (!is_over && !followed.is_whole())
      shown = Error{Errc::kTimeout,
                    "no list after " + std::to_string(kFirstMax.count() / 1000) + " s: " + followed.note()};
    else if (!is_over)
      shown = show(process, followed, is_over);
  }
  if (!shown) {
    daemon::print_error(shown.error().what);
    return process.leave(daemon::kExitError);
  }
  return process.leave(daemon::kExitSame);
}

}  // namespace sliced::kubectl
