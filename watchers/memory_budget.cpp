#include "watchers/memory_budget.h"

#include <algorithm>

#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::watchers {
namespace {

constexpr size_t kNamesShown = 8;

int size_class(const Footprint& footprint) {
  return footprint.bytes > MemoryBudget::kLargeBytes   ? 2
         : footprint.bytes > MemoryBudget::kSmallBytes ? 1
                                                       : 0;
}

std::string shown(const MemoryBudget::Name& name) {
  return (name.first.empty() ? "" : name.first + "/") + name.second;
}
uint64_t hash_of(const MemoryBudget::Name& name) { return stable_hash(shown(name)); }

}  // namespace

MemoryBudget::Key MemoryBudget::key_of(const Name& name, const Footprint& footprint) {
  return {footprint.rank, size_class(footprint), footprint.created_at, footprint.bytes, name};
}

bool MemoryBudget::ByRight::operator()(const Kept::value_type* a, const Kept::value_type* b) const {
  const auto right = [](const Footprint& it) {
    return std::tuple(it.rank, size_class(it), it.created_at, it.bytes);
  };
  const auto of_a = right(a->second), of_b = right(b->second);
  return of_a != of_b ? of_a < of_b : a->first < b->first;
}

std::optional<Footprint> MemoryBudget::footprint_of(const Name& name) const {
  const auto at = kept_.find(name);
  return at == kept_.end() ? std::nullopt : std::optional(at->second);
}

bool MemoryBudget::put(const Name& name, const Footprint& footprint) {
  erase(name);
  Share& share = share_of(footprint);
  const Key key = key_of(name, footprint);
  if (footprint.bytes > limit_of(footprint) || (share.first_omitted && key > *share.first_omitted)) {
    leave_out(name, footprint);
    return false;
  }
  share.queue.insert(&*kept_.emplace(name, footprint).first);
  share.bytes += footprint.bytes;
  return true;
}

void MemoryBudget::erase(const Name& name) {
  if (left_out_.erase(hash_of(name)) > 0)
    for (Share& share : shares_)
      share.has_first_been_removed |= share.first_omitted && std::get<Name>(*share.first_omitted) == name;
  const auto at = kept_.find(name);
  if (at == kept_.end()) return;
  Share& share = share_of(at->second);
  share.bytes -= at->second.bytes;
  share.queue.erase(&*at);
  kept_.erase(at);
}

void MemoryBudget::leave_out(const Name& name, const Footprint& footprint) {
  left_out_.insert(hash_of(name));
  if (footprint.bytes > limit_of(footprint)) return;  // does not fit, even alone
  Share& share = share_of(footprint);
  Key key = key_of(name, footprint);
  if (share.first_omitted && *share.first_omitted < key) return;
  share.first_omitted = std::move(key);
  share.has_first_been_removed = false;
}

std::vector<std::pair<MemoryBudget::Name, Footprint>> MemoryBudget::evict(bool final) {
  std::vector<std::pair<Name, Footprint>> out;
  for (const bool guards : {false, true}) {
    const size_t size = limit_of({.guards = guards});
    const size_t bytes = shares_[guards ? 1 : 0].bytes;
    if (bytes <= size || (!final && bytes - size < size / 4)) continue;
    const Share& share = shares_[guards ? 1 : 0];
    while (share.bytes > size) {
      const auto [name, footprint] = **share.queue.rbegin();
      erase(name);
      leave_out(name, footprint);
      out.emplace_back(name, footprint);
    }
  }
  return out;
}

bool MemoryBudget::has_room_again() const {
  for (const bool guards : {false, true}) {
    const Share& share = shares_[guards ? 1 : 0];
    if (!share.first_omitted) continue;
    const size_t size = limit_of({.guards = guards});
    const size_t wanted = std::get<size_t>(*share.first_omitted);
    if (share.has_first_been_removed || wanted <= size - std::min(share.bytes, size)) return true;
  }
  return false;
}

void Omitted::put(const MemoryBudget::Name& name, bool guards) {
  erase(name);
  (guards ? guards_ : others_).insert(hash_of(name));
  if (first_.size() < kNamesShown) first_.push_back(shown(name));
}

void Omitted::erase(const MemoryBudget::Name& name) {
  guards_.erase(hash_of(name));
  others_.erase(hash_of(name));
  std::erase(first_, shown(name));
}

void Omitted::keep_only(const std::vector<MemoryBudget::Name>& names) {
  const Omitted before = std::exchange(*this, {});
  for (const MemoryBudget::Name& name : names)
    if (const bool guards = before.guards_.contains(hash_of(name));
        guards || before.others_.contains(hash_of(name)))
      put(name, guards);
}

bool Omitted::is_guard(const MemoryBudget::Name& name) const { return guards_.contains(hash_of(name)); }

std::string Omitted::describe() const {
  const size_t count = guards_.size() + others_.size();
  if (count == 0) return "";
  std::string out = std::to_string(count) + (count == 1 ? " object is" : " objects are") +
                    " ignored: the memory for this kind is used up; remove some, or make them smaller";
  if (!first_.empty()) out += ": " + join(first_, ", ");
  return out + (count > first_.size() ? " " + and_more(count - first_.size(), "object") : "");
}

}  // namespace sliced::watchers
