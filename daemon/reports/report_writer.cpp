#include "daemon/reports/report_writer.h"

#include <algorithm>
#include <utility>

#include "kube/objects/kinds.h"

namespace sliced::reports {
namespace {

constexpr Millis kLookAgain{1'000}, kFirst{500};
constexpr reactor::BackoffPolicy kPace{
    .initial = Millis{10'000}, .cap = Millis{300'000}, .jitter = 0.5, .reset_after = Millis{900'000}};
// With metadata.managedFields, which the server adds.
constexpr kube::JsonLimits kLimits{.size_max = 256u << 10, .nodes_max = 50'000};

// Returns the report as it is read back: escaping and truncation do not count as differences.
NodeReport as_read(const NodeReport& report) { return decode_node_report(json_of(report)).value_or(report); }

std::string remedy(const kube::Failure& failure) {
  return failure.code == Errc::kDenied
             ? "; it takes get, list, watch, create and update on nodedevicereports.networking.dra.io, or --report=off"
             : "";
}

}  // namespace

Result<ReportWriter::Stored> ReportWriter::decode(std::string_view object) {
  auto json = kube::decode_json(object, kLimits);
  if (!json) return std::move(json.error());
  auto meta = kube::decode_object_meta(*json);
  if (!meta) return std::move(meta.error());
  auto report = decode_node_report(*json);
  if (!report) return std::move(report.error());
  const bool is_marked_silent = !std::exchange(report->silent_since, "").empty();
  return Stored{*std::move(report), *std::move(meta), is_marked_silent};
}

ReportWriter::ReportWriter(kube::ClusterPorts ports, std::string name, Node node)
    : ports_(std::move(ports)),
      name_(std::move(name)),
      node_(std::move(node)),
      backoff_(ports_.random, kPace),
      watcher_(
          ports_, kube::Scope{kube::kNodeDeviceReports, "", "metadata.name=" + name_, false}, decode,
          [this](const SourceEvent<Watcher::Item>& event) { on_event(event); },
          [this](const watchers::SyncState&) { arm(); }) {}

void ReportWriter::permit(bool writes) {
  is_permitted_ = writes;
  arm();
}

void ReportWriter::mark() {
  is_marked_ = true;
  arm();
}

void ReportWriter::on_event(const SourceEvent<Watcher::Item>& event) {
  is_observed_ = true;
  const Watcher::Item* item = nullptr;
  if (const auto* list = std::get_if<Relisted<Watcher::Item>>(&event))
    item = list->all.empty() ? nullptr : &list->all.front();
  else if (const auto* changed = std::get_if<Changed<Watcher::Item>>(&event))
    item = &changed->now;
  std::optional<Held> now;
  if (item != nullptr)
    now = item->value ? Held{item->value->report, item->value->meta}
                      : Held{std::nullopt, {.resource_version = item->resource_version}};
  // The aggregator removes its own mark when the daemon is active again. If it does not run, this writer
  // removes the mark, once.
  if (item != nullptr && item->value && item->value->is_marked_silent &&
      !std::exchange(has_cleared_mark_, true))
    clears_mark_ = true;
  const bool is_as_written = now && held_ && now->report && now->report == held_->report && !clears_mark_;
  held_ = std::move(now);
  if (!is_as_written) mark();
}

bool ReportWriter::is_ready() const {
  using State = watchers::SyncState::State;
  const watchers::SyncState& sync = watcher_.sync_state();
  return is_permitted_ && sync.known && sync.state != State::kAbsent;
}

// One timer, from the first mark; later marks are included.
void ReportWriter::arm() {
  if (!is_marked_ || is_working_ || !is_ready()) return timer_.reset();
  if (timer_) return;
  const TimePoint now = ports_.scheduler.now();
  const auto spread = Millis{static_cast<int64_t>(ports_.random() * static_cast<double>(kSpread.count()))};
  const TimePoint due = std::max(now + kFirst + spread, not_before_);
  timer_ = ports_.scheduler.after(due - now, [this] { look(); });
}

void ReportWriter::look() {
  timer_.reset();
  if (!is_marked_ || is_working_ || !is_ready()) return;
  const TimePoint now = ports_.scheduler.now();
  if (!waits_since_) waits_since_ = now;
  if (node_.is_busy() && now - *waits_since_ < kWaitForSlicesMax) {
    timer_ = ports_.scheduler.after(kLookAgain, [this] { look(); });
    return;
  }
  waits_since_.reset();
  is_marked_ = false;
  is_working_ = true;
  node_.make([this](std::optional<NodeReport> made) { take(std::move(made)); });
}

void ReportWriter::take(std::optional<NodeReport> made) {
  if (!made) {
    is_marked_ = true;
    return end_work(kEvery);
  }
  ++counters_.made;
  // An earlier process may know a change that this one does not.
  if (made->last_change.time.empty() && held_ && held_->report)
    made->last_change = held_->report->last_change;
  const NodeReport report = fit(std::move(*made));
  if (held_ && held_->report == as_read(report) && !clears_mark_) {
    last_failure_.forget();
    return end_work(Millis{0});
  }
  if (!is_ready()) {
    is_marked_ = true;
    return end_work(Millis{0});
  }
  write(report);
}

void ReportWriter::write(const NodeReport& report) {
  kube::WriteRequest request{.verb = held_ ? kube::Verb::kUpdate : kube::Verb::kCreate,
                             .resource = kube::kNodeDeviceReports,
                             .name = name_};
  request.body = kube::encode_json(json_of(report, held_ ? held_->meta : kube::ObjectMeta{}));
  counters_.bytes = request.body.size();
  is_observed_ = false;
  call_ = ports_.cluster.write(std::move(request),
                               {[this](std::string_view object) { on_written(object); },
                                [this](const kube::Failure& failure) { on_failure(failure); }});
}

void ReportWriter::on_written(std::string_view object) {
  const auto call = std::move(call_);
  ++counters_.succeeded;
  clears_mark_ = false;
  backoff_.reset();
  last_failure_.forget();
  // The server's answer, unless the watch has already reported it or a later change.
  if (auto stored = decode(object); !is_observed_ && stored && stored->report.node == name_)
    held_ = Held{std::move(stored->report), std::move(stored->meta)};
  end_work(kEvery);
}

void ReportWriter::on_failure(const kube::Failure& failure) {
  const auto call = std::move(call_);
  ++counters_.failed;
  if (last_failure_.is_new(failure.what))
    ports_.log.warning("NodeDeviceReport not written",
                       {{"node", name_}, {"why", failure.what + remedy(failure)}});
  is_marked_ = true;
  end_work(
      std::max({kEvery, backoff_.next(ports_.scheduler.now()), failure.retry_after.value_or(Millis{0})}));
}

void ReportWriter::end_work(Millis wait) {
  is_working_ = false;
  not_before_ = std::max(not_before_, ports_.scheduler.now() + wait);
  arm();
}

}  // namespace sliced::reports
