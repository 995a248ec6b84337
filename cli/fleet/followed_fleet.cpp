#include "cli/fleet/followed_fleet.h"

#include "allocation/claim.h"
#include "kube/kinds.h"
#include "reactor/signal.h"
#include "watchers/watched_source.h"

namespace sliced::cli {
namespace {

using watchers::Standing;

constexpr Millis kFirstMax{120'000};                   // for the lists
constexpr size_t kFollowedBytesMax = size_t{4} << 30;  // as ClusterObjects
constexpr size_t kObjectsMax = 500'000;

struct FollowedNode {
  std::string name;
};

template <class T>
Result<T> decoded(std::string_view text, Result<T> (*decode)(const kube::Json&)) {
  const auto object = kube::decode_json(text, kube::kSliceLimits);
  return object ? decode(*object) : Result<T>(object.error());
}

Result<FollowedNode> followed_node(const kube::Json& object) {
  const kube::Json* name = object.find({"metadata", "name"});
  if (name == nullptr || name->string() == nullptr) return Error{Errc::kInvalid, "a node without a name"};
  return FollowedNode{*name->string()};
}
Result<FleetClaim> followed_claim(const kube::Json& object) {
  auto claim = allocation::decode_claim(object);
  return claim ? Result<FleetClaim>(fleet_claim(*claim)) : Result<FleetClaim>(std::move(claim.error()));
}
Result<FleetReport> followed_report(const kube::Json& object) {
  auto report = reports::decode_node_report(object);
  return report ? Result<FleetReport>(fleet_report(*report)) : Result<FleetReport>(std::move(report.error()));
}

kube::Scope scope_of(const kube::Resource& resource, bool metadata_only = false) {
  return {.resource = resource, .namespace_ = "", .field_selector = "", .metadata_only = metadata_only};
}

}  // namespace

// One kind of objects, kept equal in the fleet.
template <class T>
struct FollowedFleet::How {
  using Id = typename watchers::Watched<T>::Id;
  Result<T> (*decode)(const kube::Json&);
  void (*put)(Fleet&, T);
  void (*remove)(Fleet&, const Id&);
  void (*clear)(Fleet&);
};

template <class T>
void FollowedFleet::follow(const kube::Ports& ports, kube::Scope scope, const How<T>& how) {
  using Source = watchers::WatchedSource<T>;
  using Item = typename Source::Item;
  const auto put = [this, how](const Item& item) {
    if (item.value)
      how.put(fleet_, *item.value);
    else
      how.remove(fleet_, item.id);
  };
  const auto take = [this, how, put](const SourceEvent<Item>& event) {
    ++moment_;
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
  sources_.push_back(std::make_unique<Source>(
      ports, std::move(scope), [how](std::string_view text) { return decoded(text, how.decode); }, take,
      typename Source::OnStanding([this](const Standing&) {
        ++moment_;
        fleet_.set_knows_nodes(sources_.front()->standing().known);
      }),
      typename Source::KeepMissing{}, limits));
}

FollowedFleet::FollowedFleet(const kube::Ports& ports, const std::set<std::string>& drivers)
    : fleet_(drivers) {
  follow(ports, scope_of(kube::kNodes, /*metadata_only=*/true),
         How<FollowedNode>{followed_node, [](Fleet& fleet, FollowedNode node) { fleet.put_node(node.name); },
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
  for (const auto& source : sources_) source->start();
}

bool FollowedFleet::is_refused(size_t at) const {
  const Standing& standing = sources_[at]->standing();
  return standing.state == Standing::State::kDenied || standing.state == Standing::State::kAbsent ||
         standing.is_unserved;
}

bool FollowedFleet::is_without(size_t at) const {
  const Standing& standing = sources_[at]->standing();
  return is_optional(at) && is_refused(at) && (!standing.known || standing.state == Standing::State::kAbsent);
}

bool FollowedFleet::is_whole() const {
  for (size_t i = 0; i < sources_.size(); ++i)
    if (!sources_[i]->standing().known && !is_without(i)) return false;
  return true;
}

std::string FollowedFleet::note() const {
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Standing& standing = sources_[i]->standing();
    if (standing.state != Standing::State::kLive && !is_without(i))
      return std::string(describe(standing.state)) + (standing.why.empty() ? "" : ": " + standing.why);
  }
  return "";
}

std::string FollowedFleet::refusal() const {
  for (size_t i = 0; i < sources_.size(); ++i)
    if (!is_optional(i) && is_refused(i)) return sources_[i]->standing().why;
  return "";
}

int follow_fleet(const config::Options& options,
                 const std::function<Result<Unit>(Process&, const FollowedFleet&, bool&)>& show) {
  auto opened = Process::open(options);
  if (!opened) return complain(opened.error().what), kExitError;
  Process& process = **opened;
  bool is_over = false;
  Result<Unit> shown = Unit{};
  {
    FollowedFleet followed(
        {*process.cluster, process.loop.scheduler(), *process.log, reactor::system_random()},
        {options.sriov_driver_name, options.exposure_driver_name});
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
  if (!shown) return complain(shown.error().what), process.leave(kExitError);
  return process.leave(kExitSame);
}

}  // namespace sliced::cli
