#include <csignal>

#include "allocation/claim.h"
#include "cli/commands.h"
#include "cli/fleet/fleet.h"
#include "cli/fleet/fleet_reading.h"
#include "cli/fleet/fleet_tables.h"
#include "cli/process.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "kube/kinds.h"
#include "reactor/signal.h"
#include "watchers/list_watch.h"

namespace sliced::cli {
namespace {

using watchers::Standing;

constexpr Millis kFirstMax{120'000};  // for the lists
constexpr Millis kDrawAtMostEvery{1'000};
constexpr size_t kFollowedBytesMax = size_t{1} << 30;
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

// One kind of objects, kept equal in the fleet.
template <class T>
struct Follow {
  Result<T> (*decode)(const kube::Json&);
  void (*put)(Fleet&, T);
  void (*remove)(Fleet&, const typename watchers::Watched<T>::Id&);
  void (*clear)(Fleet&);
};

constexpr Follow<FollowedNode> kFollowNodes{
    followed_node, [](Fleet& fleet, FollowedNode node) { fleet.put_node(node.name); },
    [](Fleet& fleet, const auto& id) { fleet.remove_node(id.name); },
    [](Fleet& fleet) { fleet.clear_nodes(); }};
constexpr Follow<FleetSlice> kFollowSlices{
    decode_fleet_slice, [](Fleet& fleet, FleetSlice slice) { fleet.put_slice(std::move(slice)); },
    [](Fleet& fleet, const auto& id) { fleet.remove_slice(id.name); },
    [](Fleet& fleet) { fleet.clear_slices(); }};
constexpr Follow<FleetClaim> kFollowClaims{
    followed_claim, [](Fleet& fleet, FleetClaim claim) { fleet.put_claim(std::move(claim)); },
    [](Fleet& fleet, const auto& id) { fleet.remove_claim(id.namespace_ + "/" + id.name); },
    [](Fleet& fleet) { fleet.clear_claims(); }};
constexpr Follow<FleetReport> kFollowReports{
    followed_report, [](Fleet& fleet, FleetReport report) { fleet.put_report(std::move(report)); },
    [](Fleet& fleet, const auto& id) { fleet.remove_report(id.name); },
    [](Fleet& fleet) { fleet.clear_reports(); }};

// The fleet as it is followed. What cannot be read of an object is as if it were not there.
class FollowedFleet {
 public:
  FollowedFleet(const kube::Ports& ports, const std::set<std::string>& drivers) : fleet_(drivers) {
    follow(ports, {.resource = kube::kNodes, .namespace_ = "", .field_selector = "", .metadata_only = true},
           kFollowNodes);
    follow(ports, scope_of(kube::kResourceSlices), kFollowSlices);
    follow(ports, scope_of(kube::kResourceClaims), kFollowClaims);
    follow(ports, scope_of(kube::kNodeDeviceReports), kFollowReports);
    for (const auto& source : sources_) source->start();
  }

  const Fleet& fleet() const { return fleet_; }
  /// Grows with each change.
  uint64_t moment() const { return moment_; }
  /// Each has answered; reports may be denied or absent.
  bool is_whole() const {
    for (size_t i = 0; i < sources_.size(); ++i)
      if (!sources_[i]->standing().known && !(i + 1 == sources_.size() && is_refused(i))) return false;
    return true;
  }
  /// Why what is shown may be old or is not all; "" it is neither.
  std::string note() const {
    for (size_t i = 0; i < sources_.size(); ++i) {
      const Standing& standing = sources_[i]->standing();
      const bool is_live = standing.state == Standing::State::kLive;
      if (!is_live && !(i + 1 == sources_.size() && is_refused(i)))
        return std::string(describe(standing.state)) + (standing.why.empty() ? "" : ": " + standing.why);
    }
    return "";
  }
  /// A refusal that ends it: nodes, slices or claims may not be read.
  std::string refusal() const {
    for (size_t i = 0; i + 1 < sources_.size(); ++i)
      if (is_refused(i)) return sources_[i]->standing().why;
    return "";
  }

 private:
  static kube::Scope scope_of(const kube::Resource& resource) {
    return {.resource = resource, .namespace_ = "", .field_selector = "", .metadata_only = false};
  }
  bool is_refused(size_t at) const {
    const Standing& standing = sources_[at]->standing();
    return standing.state == Standing::State::kDenied || standing.state == Standing::State::kAbsent ||
           standing.is_unserved;
  }
  template <class T>
  void follow(const kube::Ports& ports, kube::Scope scope, const Follow<T>& how) {
    using Item = typename watchers::WatchedSource<T>::Item;
    watchers::ListWatchLimits limits;
    limits.list_bytes_max = kFollowedBytesMax;
    limits.objects_max = kObjectsMax;
    sources_.push_back(std::make_unique<watchers::WatchedSource<T>>(
        ports, std::move(scope), [how](std::string_view text) { return decoded(text, how.decode); },
        [this, how](const SourceEvent<Item>& event) { take(event, how); },
        typename watchers::WatchedSource<T>::OnStanding([this](const Standing&) { ++moment_; }),
        typename watchers::WatchedSource<T>::KeepMissing{}, limits));
  }
  template <class Item, class T>
  void take(const SourceEvent<Item>& event, const Follow<T>& how) {
    ++moment_;
    const auto put = [&](const Item& item) {
      if (item.value)
        how.put(fleet_, *item.value);
      else
        how.remove(fleet_, item.id);
    };
    if (const auto* list = std::get_if<Relisted<Item>>(&event)) {
      how.clear(fleet_);
      for (const Item& item : list->all) put(item);
    } else if (const auto* changed = std::get_if<Changed<Item>>(&event)) {
      put(changed->now);
    } else if (const auto* removed = std::get_if<Removed<Item>>(&event)) {
      how.remove(fleet_, removed->id);
    }
  }

  Fleet fleet_;
  uint64_t moment_ = 1;
  std::vector<std::unique_ptr<watchers::Source>> sources_;  // reports are the last
};

std::string once(const FollowedFleet& followed, const config::Options& options) {
  const auto rows = followed.fleet().rows();
  if (options.output != config::OutputFormat::kTable && options.output != config::OutputFormat::kWide)
    return formatted(json_of(rows), options.output);
  return top_text(rows, {.has_colours = has_colours(), .note = followed.note()});
}

// The head of a frame is the totals, perhaps a note, and the heading; its foot how many more there are.
constexpr size_t kRowsAround = 4;

Result<Unit> go_on(Process& process, const FollowedFleet& followed, const bool& is_over,
                   const std::function<void()>& end) {
  uint64_t drawn = 0;
  auto screen = Screen::open(process.loop, [&](char key) {
    if (key == 'q' || key == 'Q') end();
  });
  if (!screen) return std::move(screen.error());
  auto resized = reactor::Signal::open(process.loop, SIGWINCH, [&] { drawn = 0; });
  while (!is_over) {
    if (drawn != followed.moment()) {
      drawn = followed.moment();
      const Screen::Size size = (*screen)->size();
      (*screen)->show(top_text(followed.fleet().rows(),
                               {.rows_max = size.rows > kRowsAround + 1 ? size.rows - kRowsAround : 1,
                                .columns_max = size.columns,
                                .has_colours = has_colours(),
                                .note = followed.note()}));
    }
    // What changes meanwhile is drawn together.
    process.run_until([&] { return is_over || drawn == 0; }, kDrawAtMostEvery);
  }
  return Unit{};
}

}  // namespace

int top(const config::Options& given) {
  config::Options options = given;
  const bool is_live = is_terminal() && !options.once && options.output == config::OutputFormat::kTable;
  // The note of a frame says what the log would write across it.
  if (is_live && options.log_level == Level::kInfo) options.log_level = Level::kError;
  auto opened = Process::open(options);
  if (!opened) return complain(opened.error().what), kExitError;
  Process& process = **opened;
  bool is_over = false;
  const auto end = [&] { is_over = true; };
  Result<Unit> shown = Unit{};
  {
    FollowedFleet followed(
        {*process.cluster, process.loop.scheduler(), *process.log, reactor::system_random()},
        {options.sriov_driver_name, options.exposure_driver_name});
    std::vector<std::unique_ptr<reactor::Signal>> signals;
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
      if (auto signal = reactor::Signal::open(process.loop, number, end))
        signals.push_back(std::move(*signal));
    process.run_until([&] { return is_over || followed.is_whole() || !followed.refusal().empty(); },
                      kFirstMax);
    if (!followed.refusal().empty())
      shown = Error{Errc::kDenied, followed.refusal()};
    else if (!is_over && !followed.is_whole())
      shown = Error{Errc::kTimeout,
                    "no list after " + std::to_string(kFirstMax.count() / 1000) + " s: " + followed.note()};
    else if (!is_over && is_live)
      shown = go_on(process, followed, is_over, end);
    else if (!is_over && !print(once(followed, options)))
      shown = Error{Errc::kIo, "top ends"};
  }
  if (!shown) return complain(shown.error().what), process.leave(kExitError);
  return process.leave(kExitSame);
}

}  // namespace sliced::cli
