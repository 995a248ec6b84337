#include "publishers/evidence.h"

#include <algorithm>
#include <memory>

#include "kube/objects/json_scanner.h"
#include "kube/objects/kinds.h"
#include "publishers/claim_results.h"
#include "reactor/base/text.h"

namespace sliced::publishers {
namespace {

using kube::Json;

constexpr size_t kListBytesMax = size_t{1} << 30;  // a third of a million claims; read one by one
constexpr size_t kPodClaimsMax = 4'096;            // of one node
// Pages beyond twice the counted number, because claims are created meanwhile: those that are requested at
// full speed, and those that are requested at all.
constexpr int64_t kPagesOnTime = 4, kPagesMore = 24;
constexpr int64_t kNodesUncounted = 1'000;  // if the nodes cannot be counted
// Size of a claim before a complete list: the size of the first claim, which any user controls, must not set
// the pace of all nodes.
constexpr size_t kClaimBytesMin = 256, kClaimBytesMax = 4'096;
constexpr double kSpreadSecondsMax = 86'400;
// 1.5 MiB in etcd may be several times that as JSON ("\\u003c" for a '<').
constexpr size_t kItemBytesMax = 16u << 20;
constexpr int64_t kCountMax = 10'000'000;  // larger counts are ignored
constexpr Millis kPagePause{400}, kPagePauseMin{100};
constexpr Millis kPausesMax{120'000};  // of a whole list, whose snapshot is kept for five minutes
// Delay before a page after an empty one, or beyond the counted number of pages.
constexpr reactor::BackoffPolicy kPageBackoff{
    .initial = kPagePause, .factor = 2.0, .cap = Millis{30'000}, .jitter = 0.5};

const Json* find_in(const Json& object, std::initializer_list<const char*> path) {
  const Json* at = &object;
  for (const char* key : path)
    if (at != nullptr) at = at->find(key);
  return at;
}

int64_t believed(int64_t items) { return std::clamp<int64_t>(items, 0, kCountMax); }

std::string name_of_claim(std::string_view claim) {
  std::string out;
  for (const char* key : {"namespace", "name"}) {
    const auto literal = kube::find_raw(claim, {"metadata", key});
    const std::string_view text = literal ? *literal : "";
    out += (out.empty() ? "" : "/") + (text.size() < 2 ? "?" : printable(text.substr(1, text.size() - 2)));
  }
  return out;
}

// "<node>", "<node>/..." or, if that is too long, a name whose first part ends in the node's hash
// (policy::exposure_pool_name).
bool is_pool_of(const std::string& node, std::string_view pool) {
  const std::string_view first = pool.substr(0, pool.rfind('/'));
  return first == node || first.ends_with("-" + hex(stable_hash(node), 16));
}

// Returns the claims that a core/v1 Pod names, and those that were created for it.
std::set<std::string> claims_of_pod(const Json& pod) {
  std::set<std::string> out;
  const auto take = [&](const Json& one) {
    if (const std::string_view name = one.text("resourceClaimName"); !name.empty()) out.emplace(name);
  };
  visit_items(find_in(pod, {"spec", "resourceClaims"}), take);
  visit_items(find_in(pod, {"status", "resourceClaimStatuses"}), take);
  if (const Json* extended = find_in(pod, {"status", "extendedResourceClaimStatus"}); extended != nullptr)
    take(*extended);
  return out;
}

}  // namespace

EvidenceSource::EvidenceSource(kube::ClusterPorts ports, std::set<std::string> drivers, std::string node,
                               Handlers handlers)
    : ports_(std::move(ports)),
      drivers_(std::move(drivers)),
      node_(std::move(node)),
      handlers_(std::move(handlers)),
      page_backoff_(ports_.random, kPageBackoff) {}

void EvidenceSource::read_pods(bool immediately) {
  begin(ReadKind::kPods);
  if (immediately)
    list_pods();
  else
    count_nodes();
}
void EvidenceSource::list_claims() {
  begin(ReadKind::kList);
  count_nodes();
}

void EvidenceSource::stop() {
  due_.reset();
  call_.reset();
}

void EvidenceSource::begin(ReadKind aim) {
  kind_ = aim;
  found_.clear();
  claim_names_.clear();
  pod_claims_.clear();
  coverage_ = Coverage::kWhole;
  problem_.clear();
  if (items_ > 0) claim_bytes_seen_ = bytes_ / items_;
  bytes_ = items_ = 0;
}

void EvidenceSource::after(Millis delay, std::function<void()> next) {
  due_ = ports_.scheduler.after(delay, [this, next = std::move(next)] {
    due_.reset();
    next();
  });
}

void EvidenceSource::count_nodes() {
  auto count = std::make_shared<int64_t>(0);
  const auto done = [this, count](bool is_counted) {
    call_.reset();
    nodes_ = is_counted ? std::max<int64_t>(1, *count) : kNodesUncounted;
    if (kind_ == ReadKind::kList) return count_claims();
    wait_for_pods();
  };
  call_ = ports_.cluster.list(
      {.scope = {.resource = kube::kNodes, .metadata_only = true}, .limit = 1, .first_page_only = true},
      {.on_item = [count](std::string_view) { ++*count; },
       .on_done = [done](const std::string&) { done(true); },
       .on_failure = [done](const kube::Failure&) { done(false); },
       .on_remaining = [count](int64_t items) { *count += believed(items); }});
}

void EvidenceSource::wait_for_pods() {
  const double seconds = static_cast<double>(nodes_) * kPodBytes / kFleetBytesPerSecond;
  const Millis wait = within(std::min(seconds, kSpreadSecondsMax));
  after(wait, [this] { list_pods(); });
  handlers_.on_delay(wait);
}

void EvidenceSource::count_claims() {
  claims_ = 0;
  claim_bytes_ = std::max(claim_bytes_seen_, kClaimBytesMin);
  call_ = ports_.cluster.list(
      {.scope = {.resource = kube::kResourceClaims}, .limit = 1, .first_page_only = true},
      {.on_item =
           [this](std::string_view object) {
             ++claims_;
             claim_bytes_ = std::max(claim_bytes_, std::min(object.size(), kClaimBytesMax));
           },
       .on_done =
           [this](const std::string&) {
             call_.reset();
             wait_for_list_delay();
           },
       .on_failure = [this](const kube::Failure& failure) { fail(failure); },
       .on_remaining = [this](int64_t items) { claims_ += believed(items); }});
}

void EvidenceSource::wait_for_list_delay() {
  const auto nodes = static_cast<double>(nodes_), claims = static_cast<double>(claims_);
  const double list_seconds =
      std::min(nodes * claims * static_cast<double>(claim_bytes_) / kFleetBytesPerSecond, kSpreadSecondsMax);
  spread_ = Millis(static_cast<int64_t>(list_seconds * 1000));
  after(within(list_seconds), [this] {
    begun_ = ports_.scheduler.now();
    pages_ = 0;
    page_backoff_.reset();
    list_page("");
  });
}

// Jitter.
Millis EvidenceSource::within(double seconds) const {
  return Millis(static_cast<int64_t>(ports_.random() * seconds * 1000));
}

void EvidenceSource::list_pods() {
  const std::string selector = "spec.nodeName=" + node_;
  call_ = ports_.cluster.list(
      {.scope = {.resource = kube::kPods, .field_selector = selector}, .item_bytes_max = kItemBytesMax},
      {.on_item = [this](std::string_view object) { note_pod(object); },
       .on_done = [this](const std::string&) { next_pod_claim(); },
       .on_failure =
           [this](const kube::Failure& failure) {
             pod_claims_.clear();
             miss(failure, "list on pods");
             next_pod_claim();
           }});
}

void EvidenceSource::note_pod(std::string_view object) {
  const auto pod = kube::decode_json(object);
  if (!pod) return miss({.what = "a pod cannot be decoded: " + pod.error().what}, "");
  const Json* spec = pod->find("spec");
  const Json* meta = pod->find("metadata");
  if (spec == nullptr || meta == nullptr || spec->text("nodeName") != node_) return;
  for (const std::string& name : claims_of_pod(*pod)) {
    if (pod_claims_.size() == kPodClaimsMax)
      return miss(
          {.what = "the pods of this node name more than " + std::to_string(kPodClaimsMax) + " claims"}, "");
    pod_claims_.emplace(meta->text("namespace"), name);
  }
}

void EvidenceSource::next_pod_claim() {
  call_.reset();
  if (pod_claims_.empty()) {
    if (!problem_.empty()) miss({.what = "ResourceClaim " + problem_}, "");
    if (coverage_ == Coverage::kWhole) last_pods_problem_.forget();
    return handlers_.on_pods({std::exchange(found_, {}), std::exchange(claim_names_, {})}, coverage_);
  }
  auto claim = pod_claims_.extract(pod_claims_.begin()).value();
  call_ = ports_.cluster.get({.resource = kube::kResourceClaims,
                              .namespace_ = std::move(claim.first),
                              .name = std::move(claim.second)},
                             {.on_done =
                                  [this](std::string_view object) {
                                    record_claim(object);
                                    next_pod_claim();
                                  },
                              .on_failure =
                                  [this](const kube::Failure& failure) {
                                    if (!kube::says_gone(failure)) {  // the other requests would fail, too
                                      pod_claims_.clear();
                                      miss(failure, "get on resourceclaims");
                                    }
                                    next_pod_claim();
                                  }});
}

// permission: the missing one; "" if the failure has another cause.
void EvidenceSource::miss(const kube::Failure& failure, std::string_view permission) {
  const bool is_first = coverage_ == Coverage::kWhole;
  if (is_first || failure.code != Errc::kDenied)
    coverage_ = failure.code == Errc::kDenied ? Coverage::kDenied : Coverage::kFailed;
  if (!is_first || !last_pods_problem_.is_new(failure.what)) return;
  ports_.log.warning("pods of this node cannot be read: waiting for a list of all ResourceClaims",
                     {{"problem", failure.what},
                      {"remedy", failure.code == Errc::kDenied
                                     ? "grant " + std::string(permission) + " (config/deploy/rbac.yaml)"
                                     : "none; the request is repeated while a device waits for it"}});
}

void EvidenceSource::list_page(std::string continue_token) {
  items_before_ = items_;
  auto next = std::make_shared<std::string>();
  call_ = ports_.cluster.list({.scope = {.resource = kube::kResourceClaims},
                               .limit = kPageItems,
                               .bytes_max = kListBytesMax,
                               .item_bytes_max = kItemBytesMax,
                               .first_page_only = true,
                               .continue_token = std::move(continue_token)},
                              {.on_item =
                                   [this](std::string_view object) {
                                     bytes_ += object.size();
                                     ++items_;
                                     record_claim(object);
                                   },
                               .on_done = [this, next](const std::string&) { finish_page(std::move(*next)); },
                               .on_failure = [this](const kube::Failure& failure) { fail(failure); },
                               .on_continue = [next](std::string token) { *next = std::move(token); }});
}

void EvidenceSource::finish_page(std::string continue_token) {
  call_.reset();
  if (!problem_.empty()) return fail({.what = "ResourceClaim " + problem_});
  if (bytes_ > kListBytesMax)
    return fail({.code = Errc::kTooLarge, .what = "list resourceclaims: it is larger than 1 GiB"});
  if (++pages_ > 2 * claims_ / kPageItems + kPagesMore)
    return fail(
        {.code = Errc::kTooLarge,
         .what = "list resourceclaims: it has more pages than " + std::to_string(claims_) + " claims fill"});
  if (continue_token.empty())
    return handlers_.on_list({begun_, std::exchange(found_, {}), std::exchange(claim_names_, {})});
  after(page_pause(), [this, token = std::move(continue_token)] { list_page(token); });
}

// A list of as many pages as were counted ends before its snapshot expires. Further or empty pages are
// requested with growing delays.
Millis EvidenceSource::page_pause() {
  const int64_t counted = claims_ / kPageItems;
  if (items_ == items_before_ || pages_ > 2 * counted + kPagesOnTime)
    return page_backoff_.next(ports_.scheduler.now());
  return std::clamp(kPausesMax / std::max<int64_t>(1, counted), kPagePauseMin, kPagePause);
}

void EvidenceSource::record_claim(std::string_view object) {
  const auto results = results_of_claim(object);
  if (!results) {
    problem_ = name_of_claim(object) + " cannot be decoded: " + results.error().what;
    return;
  }
  visit_results(*results, [&](const AllocatedResult& result) {
    if (result.is_admin || !is_pool_of(node_, result.pool) || !drivers_.contains(std::string(result.driver)))
      return;
    const policy::PoolKey pool(result.driver, result.pool);
    auto [at, fresh] = found_[pool].emplace(result.device, result.is_shared);
    at->second = at->second && result.is_shared;
    std::set<std::string>& names = claim_names_[pool][at->first];
    if (names.size() < policy::kClaimsNamedMax) names.insert(name_of_claim(object));
  });
}

void EvidenceSource::fail(const kube::Failure& failure) {
  call_.reset();
  found_.clear();
  claim_names_.clear();
  handlers_.on_failure(failure);
}

}  // namespace sliced::publishers
