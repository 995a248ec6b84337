#include "reports/aggregator.h"

#include <algorithm>
#include <utility>

#include "kube/kinds.h"
#include "policy/exposure/decode_policy.h"
#include "policy/sriov/policy.h"
#include "watchers/policy_watcher.h"

namespace sliced::reports {
namespace aggregating {
namespace {

constexpr kube::JsonLimits kReportLimits{.size_max = 256u << 10, .nodes_max = 50'000};
// Of 50,000 nodes with reports of usual size, or 8,000 with the largest.
constexpr size_t kReportListBytesMax = 256u << 20;
constexpr reactor::BackoffPolicy kPace{
    .initial = Millis{1'000}, .cap = Millis{300'000}, .jitter = 0.5, .reset_after = Millis{900'000}};
constexpr reactor::BackoffPolicy kPaceOfOne{.initial = Aggregator::kEvery,
                                            .cap = kPace.cap,
                                            .jitter = kPace.jitter,
                                            .reset_after = kPace.reset_after};

// Of the next policy it would say the same.
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

// A kind of policies that is not installed has no policies, which is an answer; nodes that cannot report give none.
template <class Watcher>
std::string lack_of(const Watcher& watcher, bool may_be_absent) {
  const watchers::Standing& standing = watcher.standing();
  if (standing.known && (may_be_absent || standing.state != watchers::Standing::State::kAbsent)) return "";
  return watcher.scope().resource.plural + ": " +
         (standing.why.empty() ? std::string(describe(standing.state)) : standing.why);
}

}  // namespace
}  // namespace aggregating

Aggregator::Aggregator(kube::Ports ports, Settings settings)
    : ports_(std::move(ports)),
      settings_(std::move(settings)),
      backoff_(ports_.random, aggregating::kPace),
      reports_(
          ports_, kube::Scope{kube::kNodeDeviceReports, "", "", false},
          [this](std::string_view object) -> Result<NodeWords> {
            auto json = kube::decode_json(object, aggregating::kReportLimits);
            if (!json) return std::move(json.error());
            const auto report = decode_node_report(*json);
            if (!report) return report.error();
            return words_of(*report, shared_);
          },
          [this](const SourceEvent<ReportWatcher::Item>& event) { on_reports(event); },
          [this](const watchers::Standing&) { mark(kLookAfter); }, {},
          watchers::ListWatchLimits{.list_bytes_max = aggregating::kReportListBytesMax}),
      sriov_(watch(kube::kSriovResourcePolicies, settings_.namespace_, aggregating::judge_sriov)),
      exposures_(watch(kube::kDeviceExposurePolicies, "", aggregating::judge_exposure)) {}

Aggregator::~Aggregator() = default;

std::unique_ptr<Aggregator::PolicyWatcher> Aggregator::watch(
    const kube::Resource& kind, const std::string& namespace_,
    std::function<JudgedPolicy(const kube::Json&)> judge) {
  return std::make_unique<PolicyWatcher>(
      ports_, kube::Scope{kind, namespace_, "", false},
      [judge = std::move(judge)](std::string_view object) -> Result<Policy> {
        auto json = kube::decode_json(object, watchers::kPolicyLimits);
        if (!json) return std::move(json.error());
        return Policy{"", judge(*json), decode_policy_status(*json)};
      },
      [this, &kind](const SourceEvent<PolicyWatcher::Item>& event) { on_policies(kind, event); },
      [this](const watchers::Standing&) { mark(kLookAfter); }, PolicyWatcher::KeepMissing{},
      watchers::ListWatchLimits{.list_bytes_max = watchers::kPolicyListBytesMax});
}

void Aggregator::start() {
  reports_.start();
  sriov_->start();
  exposures_->start();
}

void Aggregator::on_reports(const SourceEvent<ReportWatcher::Item>& event) {
  const auto take = [&](const ReportWatcher::Item& item) {
    if (item.value)
      nodes_[item.id.name] = *item.value;
    else
      nodes_.erase(item.id.name);
  };
  if (const auto* list = std::get_if<Relisted<ReportWatcher::Item>>(&event)) {
    nodes_.clear();
    for (const auto& item : list->all) take(item);
  } else if (const auto* changed = std::get_if<Changed<ReportWatcher::Item>>(&event)) {
    take(changed->now);
  } else if (const auto* removed = std::get_if<Removed<ReportWatcher::Item>>(&event)) {
    nodes_.erase(removed->id.name);
  }
  mark(kLookAfter);
}

void Aggregator::put(const kube::Resource& kind, const PolicyWatcher::Item& item) {
  const PolicyRef ref{kind.kind, item.id.namespace_, item.id.name};
  if (!item.value) return void(policies_.erase(ref));  // too large to be judged: without a status
  const auto at =
      policies_.try_emplace(ref, Kept{{}, reactor::Backoff(ports_.random, aggregating::kPaceOfOne)}).first;
  Policy& policy = at->second.policy;
  policy = *item.value;
  policy.uid = item.uid;
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
  mark(kLookAfter);
}

std::string Aggregator::waits_for() const {
  for (const std::string& lack : {aggregating::lack_of(*sriov_, /*may_be_absent=*/true),
                                  aggregating::lack_of(*exposures_, /*may_be_absent=*/true),
                                  aggregating::lack_of(reports_, /*may_be_absent=*/false)})
    if (!lack.empty()) return lack;
  return "";
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

void Aggregator::look() {
  if (call_) return;                                   // its answer looks again
  if (!waits_for().empty()) return to_write_.clear();  // likewise what is heard of a source
  const TimePoint now = ports_.scheduler.now();
  if (now < not_before_) return mark(std::chrono::duration_cast<Millis>(not_before_ - now));
  if (write_next()) return;
  if (now < sum_not_before_) return mark(std::chrono::duration_cast<Millis>(sum_not_before_ - now));
  sum_up_all();
  write_next();
}

// Everything that differs is written before anything is summed up again: what changes all the time is not in the way of what
// comes behind it.
void Aggregator::sum_up_all() {
  const TimePoint now = ports_.scheduler.now();
  sum_not_before_ = now + kLookAfter;
  const auto words = sum_up(nodes_);
  const std::string time = settings_.now();
  static const FleetWord kNone;
  std::optional<TimePoint> later;
  for (const auto& [ref, kept] : policies_) {
    const auto word = words.find(ref);
    PolicyStatus status =
        status_of(kept.policy.judged, word == words.end() ? kNone : word->second, kept.policy.held, time);
    if (status == kept.policy.held) continue;
    if (kept.not_before <= now)
      to_write_.emplace_back(ref, std::move(status));
    else
      later = std::min(later.value_or(kept.not_before), kept.not_before);
  }
  std::ranges::reverse(to_write_);
  if (later) mark(std::chrono::duration_cast<Millis>(*later - now));
}

// What has been deleted or edited since is left to the next look.
bool Aggregator::write_next() {
  while (!to_write_.empty() && !call_) {
    const auto [policy, status] = std::move(to_write_.back());
    to_write_.pop_back();
    const auto at = policies_.find(policy);
    if (at != policies_.end() && at->second.policy.judged.generation == status.observed_generation)
      write(policy, status);
  }
  return call_ != nullptr;
}

void Aggregator::write(const PolicyRef& policy, const PolicyStatus& status) {
  kube::Json body = json_of(status);
  kube::Json meta = kube::Json::Object{};
  meta.set("uid", policies_.at(policy).policy.uid);  // not of a successor of the same name
  body.set("metadata", std::move(meta));
  kube::WriteRequest request{.verb = kube::Verb::kMerge,
                             .resource = policy.kind == kube::kSriovResourcePolicies.kind
                                             ? kube::kSriovResourcePolicies
                                             : kube::kDeviceExposurePolicies,
                             .namespace_ = policy.namespace_,
                             .name = policy.name,
                             .body = kube::encode_json(body),
                             .subresource = "status",
                             .field_manager = "sliced-aggregate"};
  ++writes_;
  call_ = ports_.cluster.write(
      std::move(request), {[this, policy, status](std::string_view) { on_written(policy, status); },
                           [this, policy](const kube::Failure& failure) { on_failure(policy, failure); }});
}

void Aggregator::on_written(const PolicyRef& policy, const PolicyStatus& status) {
  const auto call = std::move(call_);
  backoff_.reset();
  if (policy == failed_) failure_.forget();
  if (const auto at = policies_.find(policy); at != policies_.end()) {
    Kept& kept = at->second;
    kept.policy.held = status;
    kept.backoff.reset();
    kept.not_before = ports_.scheduler.now() + kEvery;
  }
  mark(Millis{0});
}

void Aggregator::on_failure(const PolicyRef& policy, const kube::Failure& failure) {
  const auto call = std::move(call_);
  const TimePoint now = ports_.scheduler.now();
  failed_ = policy;
  if (failure_.is_new(failure.what))
    ports_.log.warning(
        "the status of a policy was not written",
        {{"policy",
          policy.kind + " " + (policy.namespace_.empty() ? "" : policy.namespace_ + "/") + policy.name},
         {"why", failure.what}});
  Millis wait = failure.retry_after.value_or(Millis{0});
  if (aggregating::is_of_server(failure)) wait = std::max(wait, backoff_.next(now));
  not_before_ = now + wait;
  if (const auto at = policies_.find(policy); at != policies_.end())
    at->second.not_before = now + at->second.backoff.next(now);
  mark(wait);
}

}  // namespace sliced::reports
