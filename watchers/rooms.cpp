#include "watchers/rooms.h"

#include <algorithm>

#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::watchers {
namespace {

constexpr size_t kNamesShown = 8;

std::string shown(const Rooms::Name& name) {
  return (name.first.empty() ? "" : name.first + "/") + name.second;
}
uint64_t hash_of(const Rooms::Name& name) { return stable_hash(shown(name)); }

}  // namespace

Rooms::Key Rooms::key_of(const Name& name, const Weight& weight) {
  const int size = weight.bytes > kLargeBytes ? 2 : weight.bytes > kSmallBytes ? 1 : 0;
  return {weight.rank, size, weight.created_at, weight.bytes, name};
}

std::optional<Weight> Rooms::weight_of(const Name& name) const {
  const auto at = kept_.find(name);
  return at == kept_.end() ? std::nullopt : std::optional(at->second);
}

bool Rooms::put(const Name& name, const Weight& weight) {
  erase(name);
  Room& room = room_of(weight);
  const Key key = key_of(name, weight);
  if (weight.bytes > size_of(weight) || (room.first_left_out && key > *room.first_left_out)) {
    leave_out(name, weight);
    return false;
  }
  kept_.emplace(name, weight);
  room.bytes += weight.bytes;
  return true;
}

void Rooms::erase(const Name& name) {
  if (left_out_.erase(hash_of(name)) > 0)
    for (Room& room : rooms_)
      room.is_first_gone |= room.first_left_out && std::get<Name>(*room.first_left_out) == name;
  const auto at = kept_.find(name);
  if (at == kept_.end()) return;
  room_of(at->second).bytes -= at->second.bytes;
  kept_.erase(at);
}

void Rooms::leave_out(const Name& name, const Weight& weight) {
  left_out_.insert(hash_of(name));
  if (weight.bytes > size_of(weight)) return;  // whatever else goes
  Room& room = room_of(weight);
  Key key = key_of(name, weight);
  if (room.first_left_out && *room.first_left_out < key) return;
  room.first_left_out = std::move(key);
  room.is_first_gone = false;
}

std::vector<std::pair<Rooms::Name, Weight>> Rooms::let_go(bool final) {
  std::vector<std::pair<Name, Weight>> out;
  for (const bool guards : {false, true}) {
    const size_t size = size_of({.guards = guards});
    const size_t bytes = rooms_[guards ? 1 : 0].bytes;
    if (bytes <= size || (!final && bytes - size < size / 4)) continue;
    std::vector<Key> keys;
    for (const auto& [name, weight] : kept_)
      if (weight.guards == guards) keys.push_back(key_of(name, weight));
    std::sort(keys.begin(), keys.end());
    size_t sum = 0;
    bool is_full = false;
    for (const Key& key : keys) {
      sum += std::get<size_t>(key);
      is_full = is_full || sum > size;
      if (!is_full) continue;
      const Name& name = std::get<Name>(key);
      const Weight weight = kept_.at(name);
      erase(name);
      leave_out(name, weight);
      out.emplace_back(name, weight);
    }
  }
  return out;
}

bool Rooms::has_room_again() const {
  for (const bool guards : {false, true}) {
    const Room& room = rooms_[guards ? 1 : 0];
    if (!room.first_left_out) continue;
    const size_t size = size_of({.guards = guards});
    const size_t wanted = std::get<size_t>(*room.first_left_out);
    if (room.is_first_gone || wanted <= size - std::min(room.bytes, size)) return true;
  }
  return false;
}

void LeftOut::put(const Rooms::Name& name, bool guards) {
  erase(name);
  (guards ? guards_ : others_).insert(hash_of(name));
  if (first_.size() < kNamesShown) first_.push_back(shown(name));
}

void LeftOut::erase(const Rooms::Name& name) {
  guards_.erase(hash_of(name));
  others_.erase(hash_of(name));
  std::erase(first_, shown(name));
}

void LeftOut::keep_only(const std::vector<Rooms::Name>& names) {
  const LeftOut before = std::exchange(*this, {});
  for (const Rooms::Name& name : names)
    if (const bool guards = before.guards_.contains(hash_of(name));
        guards || before.others_.contains(hash_of(name)))
      put(name, guards);
}

bool LeftOut::is_guard(const Rooms::Name& name) const { return guards_.contains(hash_of(name)); }

std::string LeftOut::describe() const {
  const size_t count = guards_.size() + others_.size();
  if (count == 0) return "";
  std::string out =
      std::to_string(count) + (count == 1 ? " object is" : " objects are") +
      " left out, because there is no room for all of the kind; remove some, or make them smaller";
  if (!first_.empty()) out += ": " + join(first_, ", ");
  return out + (count > first_.size() ? " " + and_more(count - first_.size(), "object") : "");
}

}  // namespace sliced::watchers
