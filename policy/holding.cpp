#include "policy/holding.h"

#include <algorithm>

namespace sliced::policy {

bool exclude_each_other(const Holding& a, const Holding& b, const std::string& pf) {
  if (a.device == b.device) {
    if (a.entry == b.entry) return false;
    const bool is_any =
        (a.group == kAnyGroup && !b.group.empty()) || (b.group == kAnyGroup && !a.group.empty());
    return a.is_exclusive || b.is_exclusive || is_any || (!a.group.empty() && a.group == b.group);
  }
  if (pf.empty()) return false;
  // A PF that is allocated as a whole excludes its VFs.
  return (a.device == pf && a.is_exclusive) || (b.device == pf && b.is_exclusive);
}

namespace {

bool may_be_of_device_of(const Holding& unknown, const Holding& other) {
  return is_device_unknown(unknown) && !other.base.empty() &&
         (unknown.entry == other.base || unknown.entry.starts_with(other.base + "-"));
}

}  // namespace

// The device of a function is its PCI address, which differs from every entry name.
bool is_device_unknown(const Holding& holding) {
  return holding.group == kAnyGroup && holding.device == holding.entry;
}

bool conflict(const Holding& a, const Holding& b, const std::string& pf) {
  const bool may_be_same = may_be_of_device_of(a, b) || may_be_of_device_of(b, a);
  // The same entry, or the other driver's entry of the same function.
  if ((a.device == b.device || may_be_same) && a.entry == b.entry) return a.is_exclusive || b.is_exclusive;
  if (may_be_same) return a.is_exclusive || b.is_exclusive || !(a.group.empty() || b.group.empty());
  return exclude_each_other(a, b, pf);
}

const PoolHoldings::Personas& PoolHoldings::of(const std::string& device) const {
  static const Personas kNone;
  const auto at = by_device_.find(device);
  return at == by_device_.end() ? kNone : at->second;
}

bool PoolHoldings::exclude(const Holding& holding) const {
  const auto excludes_it = [&](const Holding* one) { return exclude_each_other(holding, *one, pf_); };
  const Personas& personas = of(holding.device);
  if (std::any_of(personas.begin(), personas.end(), excludes_it)) return true;
  if (holding.device == pf_) return holding.is_exclusive && !pf_.empty() && count_ > personas.size();
  const Personas& of_pf = of(pf_);
  return std::any_of(of_pf.begin(), of_pf.end(), excludes_it);
}

}  // namespace sliced::policy
