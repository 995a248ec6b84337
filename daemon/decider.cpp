#include "daemon/decider.h"

#include <algorithm>
#include <utility>

#include "policy/decide.h"
#include "reactor/base/text.h"

namespace sliced::daemon {
namespace {

constexpr reactor::BackoffPolicy kBackoff{
    .initial = Millis{1'000}, .cap = Millis{60'000}, .jitter = 0.5, .reset_after = Millis{600'000}};
constexpr size_t kReasonsInLog = 4;
// Limits for a decision on the loop's own thread: a millisecond or two. Selectors have larger budgets.
constexpr size_t kDevicesOnLoop = 512;
constexpr uint64_t kFilterEntriesOnLoop = 200'000;  // over all devices

bool may_take_long(const policy::Inputs& inputs) {
  const size_t devices = inputs.inventory->devices.size();
  uint64_t entries = 0;
  for (const uint64_t one : inputs.policies->filter_entries) entries += one;
  uint64_t looks = inputs.policies->node_selector_entries;
  for (const uint64_t one : inputs.policies->attribute_entries) looks += one;
  return !inputs.policies->exposures.empty() || devices > kDevicesOnLoop ||
         devices * entries + looks > kFilterEntriesOnLoop;
}

}  // namespace

// Shared by the decider and its worker.
struct Decider::Attempt {
  InputsPtr inputs;
  std::string why;
  TimePoint began;
  std::unique_ptr<reactor::Job> job = {};
  bool is_void = false;  // mark_void(): the decision is discarded and repeated
  std::stop_source stop = {};
  policy::Decision decision = {};  // the worker's, until the job is finished
};

Decider::Decider(DeciderPorts ports, DecisionOwner& owner)
    : ports_(std::move(ports)), owner_(owner), backoff_(ports_.random, kBackoff) {}

Decider::~Decider() {
  if (const auto* attempt = std::get_if<std::shared_ptr<Attempt>>(&state_)) (*attempt)->stop.request_stop();
}

void Decider::note(std::string why) {
  if (since_)
    ++counters_.coalesced;
  else
    since_ = ports_.scheduler.now();
  if (changes_.size() < kReasonsInLog && std::find(changes_.begin(), changes_.end(), why) == changes_.end())
    changes_.push_back(std::move(why));
}

void Decider::mark(std::string why) {
  note(std::move(why));
  if (idle()) arm();
}

void Decider::mark_void(std::string why) {
  if (auto* attempt = std::get_if<std::shared_ptr<Attempt>>(&state_)) (*attempt)->is_void = true;
  mark(std::move(why));
}

void Decider::decide_now() {
  if (auto* attempt = std::get_if<std::shared_ptr<Attempt>>(&state_))
    (*attempt)->is_void |= !changes_.empty();
  else if (!idle())
    decide();
}

void Decider::arm() {
  const TimePoint now = ports_.scheduler.now();
  const Millis delay = not_before_ ? std::max(Millis{0}, *not_before_ - now) : Millis{0};
  state_ = Due{ports_.scheduler.after(delay, [this] { decide(); })};
}

void Decider::decide() {
  const CallbackGuard::Call running(callbacks_);
  state_ = Idle{};
  const std::string why = join(std::exchange(changes_, {}), "; ");
  const InputsPtr inputs = owner_.prepare();
  if (!inputs) return;
  deciding_since_ = std::exchange(since_, std::nullopt);
  if (may_take_long(*inputs)) return decide_on_worker(inputs, why);
  was_overtaken_ = false;
  late_.clear();
  conclude(policy::decide(inputs), why);
}

void Decider::decide_on_worker(InputsPtr inputs, std::string why) {
  std::erase_if(abandoned_, [](const auto& attempt) { return attempt.expired(); });
  if (abandoned_.size() >= kAbandonedMax) {
    changes_.insert(changes_.begin(), std::move(why));
    return schedule_retry(*inputs, std::to_string(abandoned_.size()) + " that were given up still run");
  }
  auto attempt =
      std::make_shared<Attempt>(Attempt{std::move(inputs), std::move(why), ports_.scheduler.now()});
  state_ = attempt;
  auto work = [attempt] { attempt->decision = policy::decide(attempt->inputs, attempt->stop.get_token()); };
  auto done = [this](bool finished) {
    const auto ended = std::move(std::get<std::shared_ptr<Attempt>>(state_));
    const auto own_job = std::move(ended->job);  // keeps this function alive until it returns
    state_ = Idle{};
    end(*ended, finished);
    if (!finished) abandoned_.push_back(ended);
  };
  auto job = ports_.executor.run(std::move(work), decision_max_, std::move(done));
  if (const auto* here = std::get_if<std::shared_ptr<Attempt>>(&state_); here != nullptr && *here == attempt)
    attempt->job = std::move(job);
}

void Decider::end(Attempt& attempt, bool finished) {
  const CallbackGuard::Call running(callbacks_);
  if (!finished) {
    attempt.stop.request_stop();
    changes_.insert(changes_.begin(), std::move(attempt.why));
    const std::string limit = std::to_string(decision_max_.count()) + " ms";
    decision_max_ = std::min(2 * decision_max_, kDecisionMaxEver);
    return schedule_retry(*attempt.inputs, "it was not made within " + limit);
  }
  const Millis took = ports_.scheduler.now() - attempt.began;
  decision_max_ = std::clamp(2 * took, kDecisionMax, kDecisionMaxEver);
  if (is_overtaken(attempt)) {
    ++counters_.overtaken;
    since_ = deciding_since_;
    changes_.insert(changes_.begin(), attempt.why);
    return decide();
  }
  backoff_.reset();
  if (!std::exchange(late_, {}).empty())
    ports_.log.info("decision in time again", {{"took_ms", took.count()}});
  conclude(std::move(attempt.decision), attempt.why);
}

bool Decider::is_overtaken(const Attempt& attempt) {
  if (attempt.is_void || owner_.awaits_sources()) return true;
  was_overtaken_ = !was_overtaken_ && !changes_.empty();
  return was_overtaken_;
}

void Decider::conclude(policy::Decision decision, const std::string& why) {
  ++counters_.decided;
  if (deciding_since_)
    counters_.took.add(std::chrono::duration_cast<Millis>(ports_.scheduler.now() - *deciding_since_));
  const bool changed = owner_.conclude(std::move(decision), why);
  not_before_ = ports_.scheduler.now() + (changed ? kCoalesce : kYield);
  if (!changes_.empty()) arm();
}

void Decider::schedule_retry(const policy::Inputs& inputs, std::string what) {
  const TimePoint now = ports_.scheduler.now();
  const Millis wait = backoff_.next(now);
  ++counters_.late;
  since_ = deciding_since_;
  if (late_.empty())
    ports_.log.warning("no decision in time: offered devices remain unchanged, will retry",
                       {{"why", what},
                        {"exposure_policies", inputs.policies->exposures.size()},
                        {"devices", inputs.inventory->devices.size()},
                        {"again_in_ms", wait.count()},
                        {"remedy", "raise the CPU limit of the daemon, or simplify the policies"}});
  late_ = std::move(what);
  not_before_ = now + wait;
  arm();
}

}  // namespace sliced::daemon
