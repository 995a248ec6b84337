#include "kubelet/release_retries.h"

#include <algorithm>
#include <utility>

#include "kubelet/recall.h"

namespace sliced::kubelet {

void ReleaseRetries::add(const PreparedKey& key, bool is_first) {
  const auto [at, is_new] = waiting_.try_emplace(key);
  if (!is_new && !is_first) return;
  // The entry may be left from a former record of the same claim.
  at->second.wait = Millis{0};
  at->second.call.reset();
  at->second.turn = scheduler_.after(Millis{0}, [this, key] { ask(key); });
}

void ReleaseRetries::ask(const PreparedKey& key) {
  const PreparedClaims& prepared = handlers_.prepared();
  const auto record = prepared.find(key);
  if (record == prepared.end() || record->second.not_returned.empty()) {
    waiting_.erase(key);
    return;
  }
  if (is_nameless(record->second)) return judge(key, ClaimState::kUnknown);
  waiting_.at(key).call = ask_claim(cluster_, record->second, [this, key](ClaimState state) {
    const kube::CallPtr over = std::move(waiting_.at(key).call);
    // The kubelet may have prepared or released the claim before the answer arrived.
    const auto now = handlers_.prepared().find(key);
    if (now == handlers_.prepared().end() || now->second.not_returned.empty()) {
      waiting_.erase(key);
      return;
    }
    handlers_.on_state(key, state);
    judge(key, state);
  });
}

void ReleaseRetries::judge(const PreparedKey& key, ClaimState state) {
  Waiting& one = waiting_.at(key);
  const bool is_first = one.wait == Millis{0};
  one.wait = is_first ? kFirst : std::min(2 * one.wait, kMax);
  one.turn = scheduler_.after(one.wait, [this, key] { ask(key); });
  const auto record = handlers_.prepared().find(key);
  if (is_first || record == handlers_.prepared().end()) return;
  if (state == ClaimState::kGone || (state == ClaimState::kUnknown && record->second.is_claim_gone))
    handlers_.release_claim(record->second);
}

}  // namespace sliced::kubelet
