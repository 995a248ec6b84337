#include "controller/aggregate/aggregator.h"

#include <algorithm>
#include <utility>

#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"
#include "policy/exposure/decode_policy.h"
#include "policy/sriov/policy.h"
#include "reactor/base/text.h"
#include "watchers/policy_watcher.h"

namespace sliced::aggregate {
namespace {

constexpr kube::JsonLimits kReportLimits{.size_max = 256u << 10, .nodes_max = 50'000};
// Reports of 50,000 nodes of typical size, or of 8,000 of the largest.
constexpr size_t kReportListBytesMax = 256u << 20;
constexpr reactor::BackoffPolicy kPace{
    .initial = Millis{1'000}, .cap = Millis{300'000}, .jitter = 0.5, .reset_after = Millis{900'000}};
constexpr reactor::BackoffPolicy kPaceOfOne{.initial = Aggregator::kEvery,
                                            .cap = kPace.cap,
                                            .jitter = kPace.jitter,
                                            .reset_after = kPace.reset_after};

// An unreachable server would fail for the next policy, too.
bool is_of_server(const kube::Failure& failure) {
  return failure.code == Errc::kIo || failure.code == Errc::kTimeout || failure.code == Errc::kBusy;
}

std::string first_of(const policy::Problems& problems) {
  if (problems.empty()) return "";
  const policy::Problem& first = problems.front();
  return (first.field.empty() ? "" : first.field + ": ") + first.what;
}

JudgedPolicy judge_sriov(const kube::Json& object) {
  const policy::SriovPolicy policy = policy::decode_sriov_policy(object);
  return {policy.generation, first_of(problems_of(policy))};
}
JudgedPolicy judge_exposure(const kube::Json& object) {
  const policy::ExposurePolicy policy = policy::decode_exposure_policy(object);
  return {policy.generation, first_of(policy.problems)};
}

std::string text_of(const reports::PolicyRef& policy) {
  return policy.kind + " " + (policy.namespace_.empty() ? "" : policy.namespace_ + "/") + policy.name;
}

// A kind of policies that is not installed counts as empty. Without the kind of reports there are none.
template <class Watcher>
std::string lack_of(const Watcher& watcher, bool may_be_absent) {
  const watchers::SyncState& sync = watcher.sync_state();
  if (sync.known && (may_be_absent || sync.state != watchers::SyncState::State::kAbsent)) return "";
  return watcher.scope().resource.plural + ": " +
         (sync.why.empty() ? std::string(describe(sync.state)) : sync.why);
}

}  // namespace

Aggregator::Aggregator(kube::ClusterPorts ports, Settings settings)
    : ports_(std::move(ports)),
      settings_(std::move(settings)),
      backoff_(ports_.random, kPace),
      silent_nodes_(ports_, settings_.namespace_),
      unread_(ports_, {settings_.namespace_, settings_.event_time ? settings_.event_time : settings_.now},
              [this] { on_change(); }),
      reports_(
          ports_, kube::Scope{kube::kNodeDeviceReports, "", "", false},
          [this](std::string_view object) -> Result<ReadReport> {
            auto json = kube::decode_json(object, kReportLimits);
            if (!json) return std::move(json.error());
            const auto report = reports::decode_node_report(*json);
            if (!report) return report.error();
            return ReadReport{shared_reports(*report), !report->silent_since.empty(), report->kubelet_plugin};
          },
          [this](const SourceEvent<ReportWatcher::Item>& event) { on_reports(event); },
          [this](const watchers::SyncState&) { on_change(); }, {},
          watchers::ListWatchLimits{.list_bytes_max = kReportListBytesMax}),
      sriov_(watch(kube::kSriovResourcePolicies, settings_.namespace_, judge_sriov)),
      exposures_(watch(kube::kDeviceExposurePolicies, "", judge_exposure)) {}

Aggregator::~Aggregator() = default;

std::unique_ptr<Aggregator::PolicyWatcher> Aggregator::watch(
    const kube::Resource& kind, const std::string& namespace_,
    std::function<JudgedPolicy(const kube::Json&)> judge) {
  return std::make_unique<PolicyWatcher>(
      ports_, kube::Scope{kind, namespace_, "", false},
      [judge = std::move(judge)](std::string_view object) -> Result<Policy> {
        auto json = kube::decode_json(object, watchers::kPolicyLimits);
        if (!json) return std::move(json.error());
        return Policy{judge(*json), decode_policy_status(*json)};
      },
      [this, &kind](const SourceEvent<PolicyWatcher::Item>& event) { on_policies(kind, event); },
      [this](const watchers::SyncState&) { on_change(); }, PolicyWatcher::KeepMissing{},
      watchers::ListWatchLimits{.list_bytes_max = watchers::kPolicyListBytesMax});
}

void Aggregator::start() {
  reports_.start();
  silent_nodes_.start();
  unread_.start();
  sriov_->start();
  exposures_->start();
}

// An equal report in a new list shares the memory of the stored one.
NodePolicyReportsPtr Aggregator::shared_reports(const reports::NodeReport& report) {
  NodePolicyReports words = policy_reports_of(report, shared_);
  const auto known = nodes_.find(report.node);
  if (known != nodes_.end() && *known->second == words) return known->second;
  return std::make_shared<const NodePolicyReports>(std::move(words));
}

std::map<std::string, size_t> Aggregator::kubelet_plugins() const {
  std::map<std::string, size_t> out;
  for (const char* state : {"on", "off", "waiting"}) out[state] = 0;
  for (const auto& [node, state] : plugins_)
    if (const auto at = out.find(state); at != out.end()) ++at->second;
  return out;
}

void Aggregator::on_reports(const SourceEvent<ReportWatcher::Item>& event) {
  const auto take = [this](const ReportWatcher::Item& item, PolicyReportsByNode& into) {
    if (item.value) {
      into[item.id.name] = item.value->words;
      plugins_[item.id.name] = item.value->kubelet_plugin;
      silent_nodes_.on_report(item.id.name, item.value->is_marked_silent);
    } else {
      into.erase(item.id.name);
      plugins_.erase(item.id.name);
      silent_nodes_.on_report_gone(item.id.name);
    }
  };
  if (const auto* list = std::get_if<Relisted<ReportWatcher::Item>>(&event)) {
    silent_nodes_.clear_reports();
    plugins_.clear();
    PolicyReportsByNode all;
    for (const auto& item : list->all) take(item, all);
    nodes_ = std::move(all);
  } else if (const auto* changed = std::get_if<Changed<ReportWatcher::Item>>(&event)) {
    take(changed->now, nodes_);
  } else if (const auto* removed = std::get_if<Removed<ReportWatcher::Item>>(&event)) {
    nodes_.erase(removed->id.name);
    plugins_.erase(removed->id.name);
    silent_nodes_.on_report_gone(removed->id.name);
  }
  on_change();
}

void Aggregator::put(const kube::Resource& kind, const PolicyWatcher::Item& item) {
  const reports::PolicyRef ref{kind.kind, item.id.namespace_, item.id.name};
  if (!item.value) {
    policies_.erase(ref);  // too large to be decoded: no status
    return;
  }
  const auto at = policies_.try_emplace(ref, Kept{{}, reactor::Backoff(ports_.random, kPaceOfOne)}).first;
  at->second.policy = *item.value;
}

void Aggregator::on_policies(const kube::Resource& kind, const SourceEvent<PolicyWatcher::Item>& event) {
  if (const auto* list = std::get_if<Relisted<PolicyWatcher::Item>>(&event)) {
    Policies before;
    for (auto at = policies_.begin(); at != policies_.end();)
      if (at->first.kind == kind.kind)
        before.insert(policies_.extract(at++));
      else
        ++at;
    for (const auto& item : list->all) put(kind, item);
    for (auto& [ref, kept] : before)
      if (const auto at = policies_.find(ref); at != policies_.end()) {
        std::swap(kept.policy, at->second.policy);
        at->second = std::move(kept);
      }
  } else if (const auto* changed = std::get_if<Changed<PolicyWatcher::Item>>(&event)) {
    put(kind, changed->now);
  } else if (const auto* removed = std::get_if<Removed<PolicyWatcher::Item>>(&event)) {
    policies_.erase({kind.kind, removed->id.namespace_, removed->id.name});
  }
  on_change();
}

std::map<std::string, size_t> Aggregator::policies() const {
  std::map<std::string, size_t> out = {{kube::kSriovResourcePolicies.kind, 0},
                                       {kube::kDeviceExposurePolicies.kind, 0}};
  for (const auto& [ref, kept] : policies_) ++out[ref.kind];
  return out;
}

std::map<std::string, size_t> Aggregator::invalid_policies() const {
  constexpr size_t kNotUsedAsWritten = 2;
  static_assert(kConditionTypes[kNotUsedAsWritten] == "NotUsedAsWritten");
  std::map<std::string, size_t> out;
  for (const auto& [ref, kept] : policies_)
    if (!kept.policy.judged.problem.empty() || kept.policy.held.conditions[kNotUsedAsWritten].is_true)
      ++out[ref.kind];
  return out;
}

std::string Aggregator::waits_for() const {
  for (const std::string& lack :
       {lack_of(*sriov_, /*may_be_absent=*/true), lack_of(*exposures_, /*may_be_absent=*/true),
        lack_of(reports_, /*may_be_absent=*/false)})
    if (!lack.empty()) return lack;
  return "";
}

void Aggregator::on_change() {
  has_changed_ = true;
  mark(kLookAfter);
}

void Aggregator::mark(Millis delay) {
  const TimePoint at = ports_.scheduler.now() + delay;
  if (due_ && *due_ <= at) return;
  due_ = at;
  timer_ = ports_.scheduler.after(delay, [this] {
    due_.reset();
    look();
  });
}

// All differing statuses are written before the next sum, so that constantly changing policies do not delay
// others.
void Aggregator::look() {
  if (call_) return;           // the answer to it calls this function again
  if (!waits_for().empty()) {  // the next event of the source calls this function again
    round_.reset();
    return to_write_.clear();
  }
  const TimePoint now = ports_.scheduler.now();
  if (now < not_before_) return mark(std::chrono::duration_cast<Millis>(not_before_ - now));
  if (round_ == nullptr) {
    if (write_next()) return;
    if (now < sum_not_before_) return mark(std::chrono::duration_cast<Millis>(sum_not_before_ - now));
    sum_not_before_ = now + kLookAfter;
    has_changed_ = false;
    round_ = std::make_unique<Round>(Round{FleetSum(shared_), settings_.now()});
  }
  if (!sum_portion()) return mark(Millis{0});
  const auto round = std::move(round_);
  ++counters_.sums;
  yielded_ = round->yielded;
  outdated_ = round->outdated;
  unread_.look(reported_namespaces());
  std::ranges::reverse(to_write_);
  if (has_changed_) mark(kLookAfter);  // for nodes that changed after their turn
  if (round->later) mark(std::chrono::duration_cast<Millis>(*round->later - now));
  write_next();
}

std::set<std::string> Aggregator::reported_namespaces() const {
  std::set<std::string> out;
  shared_.policies.each_in_use([&](const reports::PolicyRef& policy) {
    if (policy.kind == kube::kSriovResourcePolicies.kind) out.insert(policy.namespace_);
  });
  return out;
}

// Processes one portion. Returns true after the last one.
bool Aggregator::sum_portion() {
  Round& round = *round_;
  if (!round.is_summed) {
    round.is_summed = round.sum.step(nodes_, settings_.reports_per_turn);
    return false;
  }
  size_t left = settings_.policies_per_turn;
  auto at = round.next ? policies_.lower_bound(*round.next) : policies_.begin();
  for (; at != policies_.end() && left > 0; ++at, --left) compare(at->first, at->second, round);
  if (at == policies_.end()) return true;
  round.next = at->first;
  return false;
}

void Aggregator::compare(const reports::PolicyRef& policy, Kept& kept, Round& round) {
  const PolicyStatus& held = kept.policy.held;
  PolicyStatus status = status_of(kept.policy.judged, round.sum.of(policy), held, round.time);
  round.outdated += static_cast<size_t>(std::max<int64_t>(0, status.nodes_selected - status.nodes_current));
  if (status.has_same_content(held)) return kept.disputed.reset();
  status.writer = own_writer();
  count_dispute(kept);
  const TimePoint from = may_write_from(kept);
  if (from <= ports_.scheduler.now()) {
    to_write_.emplace_back(policy, std::move(status));
    return;
  }
  round.later = std::min(round.later.value_or(from), from);
  round.yielded += from > kept.not_before ? 1 : 0;
}

// A preceding writer follows the nodes itself, unless it no longer exists. One that returns after it was
// overwritten exists.
void Aggregator::count_dispute(Kept& kept) {
  const PolicyStatus& held = kept.policy.held;
  if (!precedes(held.writer, own_writer()) || kept.disputed == held) return;
  if (std::exchange(kept.has_overwritten, false)) kept.patience = std::min(2 * kept.patience, kYieldMax);
  kept.disputed = held;
  kept.yields_until = ports_.scheduler.now() + kept.patience;
}

TimePoint Aggregator::may_write_from(const Kept& kept) const {
  return precedes(kept.policy.held.writer, own_writer()) ? std::max(kept.not_before, kept.yields_until)
                                                         : kept.not_before;
}

// Skips policies that were deleted or edited since, or whose status a preceding writer changed; the next
// round handles them.
bool Aggregator::write_next() {
  while (!to_write_.empty() && !call_) {
    const auto [policy, status] = std::move(to_write_.back());
    to_write_.pop_back();
    const auto at = policies_.find(policy);
    if (at == policies_.end() || at->second.policy.judged.generation != status.observed_generation) continue;
    count_dispute(at->second);
    if (may_write_from(at->second) <= ports_.scheduler.now()) write(policy, status);
  }
  return call_ != nullptr;
}

void Aggregator::write(const reports::PolicyRef& policy, const PolicyStatus& status) {
  const kube::Resource& resource = policy.kind == kube::kSriovResourcePolicies.kind
                                       ? kube::kSriovResourcePolicies
                                       : kube::kDeviceExposurePolicies;
  kube::Json body = json_of(status);
  body.set("apiVersion", kube::api_version(resource));
  body.set("kind", resource.kind);
  body.set("metadata", kube::encode_object_meta({.name = policy.name, .namespace_ = policy.namespace_}));
  kube::WriteRequest request{.verb = kube::Verb::kApply,
                             .resource = resource,
                             .namespace_ = policy.namespace_,
                             .name = policy.name,
                             .body = kube::encode_json(body),
                             .subresource = "status",
                             .field_manager = "sliced-aggregate"};
  // The watch may report the write before its answer, and a later write of another process.
  PolicyStatus before = policies_.at(policy).policy.held;
  if (precedes(before.writer, own_writer())) report_takeover(policy, before.writer);
  call_ = ports_.cluster.write(
      std::move(request), {[this, policy, status, before = std::move(before)](std::string_view) {
                             on_written(policy, status, before);
                           },
                           [this, policy](const kube::Failure& failure) { on_failure(policy, failure); }});
}

void Aggregator::report_takeover(const reports::PolicyRef& policy, const Writer& from) const {
  ports_.log.info("policy status taken over from a writer that stopped",
                  {{"policy", text_of(policy)},
                   {"version", printable(from.version, 64)},
                   {"namespace", printable(from.namespace_, 253)}});
}

void Aggregator::on_written(const reports::PolicyRef& policy, const PolicyStatus& status,
                            const PolicyStatus& before) {
  const auto call = std::move(call_);
  ++counters_.written;
  backoff_.reset();
  if (policy == failed_) failure_.forget();
  if (const auto at = policies_.find(policy); at != policies_.end()) {
    Kept& kept = at->second;
    kept.has_overwritten |= precedes(before.writer, own_writer());
    if (kept.policy.held == before) kept.policy.held = status;
    kept.backoff.reset();
    kept.not_before = ports_.scheduler.now() + kEvery;
  }
  mark(Millis{0});
}

void Aggregator::on_failure(const reports::PolicyRef& policy, const kube::Failure& failure) {
  const auto call = std::move(call_);
  const TimePoint now = ports_.scheduler.now();
  ++counters_.failed;
  failed_ = policy;
  if (failure_.is_new(failure.what))
    ports_.log.warning("policy status not written: will retry",
                       {{"policy", text_of(policy)}, {"why", failure.what}});
  Millis wait = failure.retry_after.value_or(Millis{0});
  if (is_of_server(failure)) wait = std::max(wait, backoff_.next(now));
  not_before_ = now + wait;
  if (const auto at = policies_.find(policy); at != policies_.end())
    at->second.not_before = now + at->second.backoff.next(now);
  mark(wait);
}

}  // namespace sliced::aggregate
