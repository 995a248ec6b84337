#include "daemon/reports/node_lease.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kube/objects/api_time.h"
#include "kube/objects/kinds.h"

namespace sliced::reports {
namespace {

constexpr std::string_view kPrefix = "sliced-node-";
constexpr size_t kNameMax = 253;
constexpr Millis kFirstSpread{10'000}, kAskForUid{2'000};
constexpr int64_t kDurationMin = 10, kDurationMax = 3'600;
constexpr reactor::BackoffPolicy kLeasePace{
    .initial = Millis{2'000}, .cap = Millis{30'000}, .jitter = 0.5, .reset_after = Millis{600'000}};
constexpr reactor::BackoffPolicy kRefusedPace{
    .initial = Millis{60'000}, .cap = Millis{300'000}, .jitter = 0.5, .reset_after = Millis{3'600'000}};

bool is_node(const kube::OwnerReference& owner) { return owner.api_version == "v1" && owner.kind == "Node"; }

std::string remedy(const kube::Failure& failure, const std::string& namespace_) {
  return failure.code == Errc::kDenied
             ? "; grant get, create and update on leases.coordination.k8s.io in namespace " + namespace_ +
                   ", or set --report=off"
             : "";
}

}  // namespace

std::string node_lease_name(const std::string& node) {
  std::string out = std::string(kPrefix) + node;
  return out.size() <= kNameMax ? out : "";
}

std::string node_of_lease(std::string_view name) {
  return name.starts_with(kPrefix) ? std::string(name.substr(kPrefix.size())) : "";
}

int64_t renewed_at(const kube::Json& lease) {
  int64_t out = 0;
  if (const kube::Json* fields = lease.find({"metadata", "managedFields"});
      fields != nullptr && fields->array() != nullptr)
    for (const kube::Json& one : *fields->array())
      if (one.find({"fieldsV1", "f:spec", "f:renewTime"}) != nullptr)
        out = std::max(out, kube::decode_api_time(one.text("time")).value_or(0));
  if (out > 0) return out;
  const kube::Json* spec = lease.find("spec");
  return spec == nullptr ? 0 : kube::decode_api_time(spec->text("renewTime")).value_or(0);
}

std::optional<NodeLease> decode_node_lease(const kube::Json& lease) {
  const kube::Json* name = lease.find({"metadata", "name"});
  if (name == nullptr || name->string() == nullptr) return std::nullopt;
  NodeLease out{.node = node_of_lease(*name->string()), .renewed = renewed_at(lease)};
  if (out.node.empty() || out.renewed == 0) return std::nullopt;
  if (const kube::Json* duration = lease.find({"spec", "leaseDurationSeconds"});
      duration != nullptr && duration->integer() != nullptr)
    out.duration = std::clamp(*duration->integer(), kDurationMin, kDurationMax);
  return out;
}

NodeLeaseWriter::NodeLeaseWriter(kube::ClusterPorts ports, Settings settings)
    : ports_(std::move(ports)),
      settings_(std::move(settings)),
      name_(node_lease_name(settings_.node)),
      acquired_(settings_.now()),
      backoff_(ports_.random, kLeasePace),
      refused_(ports_.random, kRefusedPace) {}

void NodeLeaseWriter::permit(bool writes) {
  if (std::exchange(is_permitted_, writes) == writes) return;
  if (!writes) return timer_.reset();
  if (name_.empty()) {
    ports_.log.warning("no Lease is written: the name of the node is too long", {{"node", settings_.node}});
    return;
  }
  arm(Millis{static_cast<int64_t>(ports_.random() * static_cast<double>(kFirstSpread.count()))});
}

void NodeLeaseWriter::arm(Millis delay) {
  if (is_permitted_) timer_ = ports_.scheduler.after(delay, [this] { look(); });
}

void NodeLeaseWriter::look() {
  timer_.reset();
  if (settings_.node_uid().empty()) return arm(kAskForUid);
  if (held_) return write(kube::Verb::kUpdate);
  read();
}

void NodeLeaseWriter::read() {
  call_ = ports_.cluster.get({kube::kLeases, settings_.namespace_, name_},
                             {[this](std::string_view object) { on_read(object); },
                              [this](const kube::Failure& failure) { on_failure(failure, true); }});
}

void NodeLeaseWriter::on_read(std::string_view object) {
  const auto call = std::move(call_);
  const auto json = kube::decode_json(object);
  auto meta = json ? kube::decode_object_meta(*json) : Result<kube::ObjectMeta>(json.error());
  if (!meta)
    return on_failure({.code = Errc::kInvalid, .what = "lease " + name_ + ": " + meta.error().what}, true);
  held_ = *std::move(meta);
  if (is_permitted_) write(kube::Verb::kUpdate);
}

// Labels, annotations and finalizers of others stay.
kube::Json NodeLeaseWriter::lease() const {
  kube::ObjectMeta meta = held_.value_or(kube::ObjectMeta{});
  meta.name = name_;
  meta.namespace_ = settings_.namespace_;
  std::erase_if(meta.owner_references, is_node);
  meta.owner_references.push_back(
      {.api_version = "v1", .kind = "Node", .name = settings_.node, .uid = settings_.node_uid()});
  kube::Json spec = kube::Json::Object{};
  spec.set("holderIdentity", settings_.node);
  spec.set("leaseDurationSeconds", static_cast<int64_t>(kLeaseDuration.count() / 1'000));
  spec.set("acquireTime", acquired_);
  spec.set("renewTime", settings_.now());
  kube::Json out = kube::Json::Object{};
  out.set("apiVersion", kube::api_version(kube::kLeases));
  out.set("kind", kube::kLeases.kind);
  out.set("metadata", kube::encode_object_meta(meta));
  out.set("spec", std::move(spec));
  return out;
}

void NodeLeaseWriter::write(kube::Verb verb) {
  kube::WriteRequest request{.verb = verb,
                             .resource = kube::kLeases,
                             .namespace_ = settings_.namespace_,
                             .name = name_,
                             .body = kube::encode_json(lease())};
  call_ = ports_.cluster.write(std::move(request),
                               {[this](std::string_view object) { on_written(object); },
                                [this](const kube::Failure& failure) { on_failure(failure, false); }});
}

void NodeLeaseWriter::on_written(std::string_view object) {
  const auto call = std::move(call_);
  ++counters_.renewed;
  backoff_.reset();
  refused_.reset();
  if (!failure_.text().empty())
    ports_.log.info("node Lease renewed again", {{"lease", settings_.namespace_ + "/" + name_}});
  failure_.forget();
  last_failure_.clear();
  const auto json = kube::decode_json(object);
  auto meta = json ? kube::decode_object_meta(*json) : Result<kube::ObjectMeta>(json.error());
  if (meta)
    held_ = *std::move(meta);
  else
    held_.reset();
  const auto spread = static_cast<double>((kLeaseRenewMax - kLeaseRenewMin).count()) * ports_.random();
  arm(kLeaseRenewMin + Millis{static_cast<int64_t>(spread)});
}

void NodeLeaseWriter::on_failure(const kube::Failure& failure, bool was_reading) {
  const auto call = std::move(call_);
  const bool was_held = held_.has_value();
  // Reads the server's object before the next write.
  held_.reset();
  if (was_reading && kube::says_gone(failure)) {
    if (is_permitted_) write(kube::Verb::kCreate);
    return;
  }
  // Deleted or edited by another client: read again soon, and not a failure.
  if (was_held && (failure.code == Errc::kConflict || kube::says_gone(failure))) return arm(Millis{500});
  ++counters_.failed;
  last_failure_ = failure.what;
  // The texts of failed reads and writes differ within one outage, so only the code is compared.
  if (failure_.is_new(std::to_string(static_cast<int>(failure.code))))
    ports_.log.warning("node Lease not renewed: this node will be reported as silent",
                       {{"lease", settings_.namespace_ + "/" + name_},
                        {"why", failure.what + remedy(failure, settings_.namespace_)}});
  const TimePoint now = ports_.scheduler.now();
  const bool is_refusal = failure.code == Errc::kDenied || failure.code == Errc::kInvalid;
  arm(std::max((is_refusal ? refused_ : backoff_).next(now), failure.retry_after.value_or(Millis{0})));
}

}  // namespace sliced::reports
