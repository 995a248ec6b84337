#include "publishers/claim_reads.h"

#include <algorithm>
#include <utility>

#include "kube/objects/kinds.h"
#include "publishers/claim_results.h"

namespace sliced::publishers {
namespace {

// After the end of a pod the claim is deallocated or deleted shortly.
constexpr reactor::BackoffPolicy kAgain{
    .initial = Millis{1'000}, .factor = 2.0, .cap = Millis{60'000}, .jitter = 0.5};

// Returns nullopt if the claim cannot be decoded: it may have any device.
std::optional<bool> has_entry(std::string_view claim, const policy::Ledger::ClaimQuery& question) {
  const std::string_view uid = text_of_metadata(claim, "uid");
  if (uid.empty()) return std::nullopt;
  if (uid != question.claim) return false;
  const auto results = results_of_claim(claim);
  if (!results) return std::nullopt;
  bool has = false;
  visit_results(*results, [&](const AllocatedResult& result) {
    has |= !result.is_admin && result.driver == question.pool.first && result.pool == question.pool.second &&
           result.device == question.entry;
  });
  return has;
}

}  // namespace

ClaimReads::ClaimReads(kube::ClusterPorts ports, const policy::Ledger& ledger,
                       std::function<void(const policy::ClaimRead&)> on_read)
    : ports_(std::move(ports)), ledger_(ledger), on_read_(std::move(on_read)) {}

void ClaimReads::stop() {
  call_.reset();
  due_.reset();
}

void ClaimReads::arm() {
  if (call_) return;
  std::map<ClaimQuery, Waiting> now;
  for (ClaimQuery& question : ledger_.questions()) {
    const auto before = waiting_.find(question);
    if (before != waiting_.end() && before->first.from == question.from) {
      now.insert(waiting_.extract(before));
      continue;
    }
    const Millis wait =
        question.is_taken_back
            ? Millis{0}
            : Millis{static_cast<int64_t>(ports_.random() * static_cast<double>(kJitter.count()))};
    const TimePoint due = std::max(question.from, ports_.scheduler.now()) + wait;
    now.emplace(std::move(question), Waiting{due, reactor::Backoff(ports_.random, kAgain)});
  }
  waiting_ = std::move(now);
  due_.reset();
  if (waiting_.empty()) return;
  const auto first = std::min_element(waiting_.begin(), waiting_.end(), [](const auto& a, const auto& b) {
    return a.second.due < b.second.due;
  });
  const Millis wait = std::chrono::duration_cast<Millis>(first->second.due - ports_.scheduler.now());
  due_ = ports_.scheduler.after(std::max(wait, Millis{0}), [this] { read_due(); });
}

void ClaimReads::read_due() {
  due_.reset();
  const auto questions = ledger_.questions();
  for (const ClaimQuery& question : questions) {
    const auto at = waiting_.find(question);
    if (at != waiting_.end() && at->first.from == question.from && at->second.due <= ports_.scheduler.now())
      return read(question);
  }
  arm();
}

void ClaimReads::read(const ClaimQuery& question) {
  const TimePoint begun = ports_.scheduler.now();
  call_ = ports_.cluster.get({.resource = kube::kResourceClaims,
                              .namespace_ = question.claim_namespace,
                              .name = question.claim_name},
                             {.on_done =
                                  [this, question, begun](std::string_view claim) {
                                    const auto has = has_entry(claim, question);
                                    if (has)
                                      report(question, begun, *has);
                                    else
                                      postpone(question);
                                  },
                              .on_failure =
                                  [this, question, begun](const kube::Failure& failure) {
                                    if (kube::says_gone(failure))
                                      report(question, begun, false);
                                    else
                                      postpone(question);
                                  }});
}

void ClaimReads::report(const ClaimQuery& question, TimePoint begun, bool has) {
  postpone(question);
  on_read_({begun, question.pool, question.entry, question.claim, has});
}

void ClaimReads::postpone(const ClaimQuery& question) {
  call_.reset();
  if (const auto at = waiting_.find(question); at != waiting_.end())
    at->second.due = ports_.scheduler.now() + at->second.again.next(ports_.scheduler.now());
  arm();
}

}  // namespace sliced::publishers
