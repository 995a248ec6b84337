#include "controller/aggregate/election.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"

namespace sliced::aggregate {
namespace {

constexpr int64_t kTransitionsMax = INT32_MAX - 1;  // before an increment; an int32 of the API

}  // namespace

Election::Election(kube::ClusterPorts ports, Settings settings, std::function<void(bool elected)> on_change)
    : ports_(std::move(ports)), settings_(std::move(settings)), on_change_(std::move(on_change)) {}

void Election::look_after(Millis delay) {
  timer_ = ports_.scheduler.after(delay, [this] { look(); });
}

void Election::look() {
  if (is_over_) return;
  // The write has the known resourceVersion and fails if another process wrote first.
  if (is_elected_) return write(kube::Verb::kUpdate);
  is_reading_ = true;
  call_ = ports_.cluster.get({kube::kLeases, settings_.namespace_, settings_.name},
                             {[this](std::string_view object) { on_lease(object); },
                              [this](const kube::Failure& failure) { on_failure(failure); }});
}

void Election::on_lease(std::string_view object) {
  const auto call = std::move(call_);
  is_reading_ = false;
  const auto json = kube::decode_json(object);
  const auto meta = json ? kube::decode_object_meta(*json) : Result<kube::ObjectMeta>(json.error());
  if (!meta)
    return on_failure({.code = Errc::kInvalid, .what = "lease " + settings_.name + ": " + meta.error().what});
  failure_.forget();
  const TimePoint now = ports_.scheduler.now();
  resource_version_ = meta->resource_version;
  const kube::Json* spec = json->find("spec");
  // An edit of labels only is not a renewal by the holder.
  if (std::string observed = spec == nullptr ? "" : kube::encode_json(*spec); observed != observed_spec_) {
    observed_spec_ = std::move(observed);
    seen_at_ = now;
  }
  holder_ = spec == nullptr ? "" : std::string(spec->text("holderIdentity"));
  const kube::Json* transitions = json->find({"spec", "leaseTransitions"});
  transitions_ = transitions != nullptr && transitions->integer() != nullptr
                     ? std::clamp<int64_t>(*transitions->integer(), 0, kTransitionsMax)
                     : 0;
  if (!holder_.empty() && holder_ != settings_.identity && now - seen_at_ < kDuration)
    return look_after(kLookEvery + Millis{static_cast<int64_t>(500 * ports_.random())});
  acquired_ = settings_.now();
  ++transitions_;
  write(kube::Verb::kUpdate);
}

kube::Json Election::lease() const {
  kube::Json spec = kube::Json::Object{};
  spec.set("holderIdentity", is_over_ ? "" : settings_.identity);
  spec.set("leaseDurationSeconds", static_cast<int64_t>(is_over_ ? 1 : kDuration.count() / 1'000));
  spec.set("acquireTime", acquired_);
  spec.set("renewTime", settings_.now());
  spec.set("leaseTransitions", transitions_);
  kube::Json out = kube::Json::Object{};
  out.set("apiVersion", kube::api_version(kube::kLeases));
  out.set("kind", kube::kLeases.kind);
  out.set("metadata", kube::encode_object_meta({.name = settings_.name,
                                                .namespace_ = settings_.namespace_,
                                                .resource_version = resource_version_}));
  out.set("spec", std::move(spec));
  return out;
}

void Election::write(kube::Verb verb) {
  if (acquired_.empty()) acquired_ = settings_.now();
  asked_at_ = ports_.scheduler.now();
  kube::WriteRequest request{.verb = verb,
                             .resource = kube::kLeases,
                             .namespace_ = settings_.namespace_,
                             .name = settings_.name,
                             .body = kube::encode_json(lease())};
  call_ = ports_.cluster.write(std::move(request),
                               {[this](std::string_view object) { on_written(object); },
                                [this](const kube::Failure& failure) { on_failure(failure); }});
}

void Election::on_written(std::string_view object) {
  const auto call = std::move(call_);
  const auto json = kube::decode_json(object);
  const auto meta = json ? kube::decode_object_meta(*json) : Result<kube::ObjectMeta>(json.error());
  if (!meta)
    return on_failure({.code = Errc::kInvalid, .what = "lease " + settings_.name + ": " + meta.error().what});
  failure_.forget();
  resource_version_ = meta->resource_version;
  holder_ = settings_.identity;
  renewed_at_ = asked_at_;
  look_after(kRenewEvery);
  check_deadline();
  set_elected(true);
}

void Election::on_failure(const kube::Failure& failure) {
  const auto call = std::move(call_);
  const bool was_reading = std::exchange(is_reading_, false);
  if (failure.code == Errc::kNotFound && was_reading) {
    resource_version_.clear();
    acquired_.clear();
    return write(kube::Verb::kCreate);
  }
  // Another process holds it now, or none. The next read decides.
  if (failure.code == Errc::kConflict || (failure.code == Errc::kNotFound && is_elected_)) {
    failure_.forget();
    set_elected(false);
  } else if (failure_.is_new(failure.what)) {
    ports_.log.warning("leader election failed: Lease not written",
                       {{"lease", settings_.namespace_ + "/" + settings_.name}, {"why", failure.what}});
  }
  look_after(kLookEvery + Millis{static_cast<int64_t>(500 * ports_.random())});
}

// Other processes may take it kDuration after the last successful write, so this process releases it earlier.
void Election::check_deadline() {
  deadline_ = ports_.scheduler.after(renewed_at_ + kGiveUpAfter - ports_.scheduler.now(), [this] {
    call_.reset();
    set_elected(false);
    look_after(kLookEvery);
  });
}

void Election::set_elected(bool elected) {
  if (!elected) deadline_.reset();
  if (is_elected_ == elected) return;
  is_elected_ = elected;
  ports_.log.info(elected ? "elected: this process writes the statuses"
                          : "election lost: another process writes the statuses",
                  {{"lease", settings_.namespace_ + "/" + settings_.name}, {"identity", settings_.identity}});
  on_change_(elected);
}

void Election::resign(std::function<void()> done) {
  const bool was_elected = is_elected_;
  timer_.reset();
  call_.reset();
  set_elected(false);
  if (std::exchange(is_over_, true) || !was_elected) return done();
  kube::WriteRequest request{.verb = kube::Verb::kUpdate,
                             .resource = kube::kLeases,
                             .namespace_ = settings_.namespace_,
                             .name = settings_.name,
                             .body = kube::encode_json(lease())};
  call_ = ports_.cluster.write(
      std::move(request), {[done](std::string_view) { done(); }, [done](const kube::Failure&) { done(); }});
}

}  // namespace sliced::aggregate
