#include "cel/published_device.h"

#include <algorithm>
#include <map>

#include "cel/lib/cel_quantity.h"
#include "cel/lib/semver.h"

namespace sliced::cel {
namespace {

class DomainMap final : public Map {
 public:
  DomainMap(const EntryMap& domains, const Map& empty_map) : domains_(domains), empty_map_(empty_map) {}
  size_t size() const override { return domains_.size(); }
  std::pair<Value, Value> at(size_t index, Arena& arena) const override { return domains_.at(index, arena); }
  std::optional<Value> get(const Value& key, Arena& arena) const override {
    const auto found = domains_.get(key, arena);
    return found ? found : std::optional(Value::of(&empty_map_));
  }
  bool contains(const Value& key, Arena& arena) const override { return domains_.has(key, arena); }

 private:
  const EntryMap& domains_;
  const Map& empty_map_;
};

// A name without a slash belongs to the driver's domain; the first slash splits.
std::pair<std::string_view, std::string_view> split_key(std::string_view key, std::string_view driver) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {driver, key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

template <class Entries>
auto find_entry(const Entries& entries, const Path& path, std::string_view driver) {
  using Key = std::conditional_t<std::is_same_v<Entries, kube::Attributes>, std::string_view, std::string>;
  auto at = entries.find(path.key);
  // A name with a slash has a domain of its own.
  if (at == entries.end() && path.domain() == driver && path.id().find('/') == std::string_view::npos)
    at = entries.find(Key(path.id()));
  return at;
}

// Steps of decoding texts of an entry.
constexpr uint64_t kVersionSteps = 12, kCapacitySteps = 6;
constexpr uint64_t kEntrySteps = 8;  // of an attribute that is put into a map

std::optional<Value> version_value(const kube::Version& version, Arena& arena) {
  arena.step(kVersionSteps);
  auto decoded = decode_semver(version.text);
  const Semver* stored = decoded ? arena.make<Semver>(std::move(*decoded)) : nullptr;
  if (stored == nullptr) return std::nullopt;
  return Value::opaque_of(Kind::kSemver, stored);
}

// Texts stay the entry's.
std::optional<Value> item_value(int64_t item, Arena&) { return Value::of(item); }
std::optional<Value> item_value(bool item, Arena&) { return Value::of(item); }
std::optional<Value> item_value(const std::string& item, Arena&) { return Value::of(std::string_view(item)); }
std::optional<Value> item_value(const kube::Version& item, Arena& arena) {
  return version_value(item, arena);
}

template <class T>
std::optional<Value> item_value(const std::vector<T>& items, Arena& arena) {
  Value* stored = arena.array<Value>(std::max<size_t>(items.size(), 1));
  List* list = arena.make<List>(List{stored, items.size()});
  if (stored == nullptr || list == nullptr) return std::nullopt;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto value = item_value(items[i], arena);
    if (!value) return std::nullopt;
    stored[i] = *value;
  }
  return Value::of(static_cast<const List*>(list));
}

std::optional<Value> capacity_value(const kube::Capacity& capacity, Arena& arena) {
  arena.step(kCapacitySteps);
  auto quantity = CelQuantity::decode(capacity.value.text());
  const CelQuantity* stored = quantity ? arena.make<CelQuantity>(std::move(*quantity)) : nullptr;
  if (stored == nullptr) return std::nullopt;
  return Value::opaque_of(Kind::kQuantity, stored);
}

}  // namespace

std::optional<Value> to_value(const kube::AttributeValue& value, Arena& arena) {
  return std::visit([&](const auto& one) { return item_value(one, arena); }, value);
}

const Map* make_domain_map(const std::vector<std::pair<std::string_view, const Map*>>& entries,
                           Arena& arena) {
  auto* domains = arena.array<EntryMap::Entry>(std::max<size_t>(entries.size(), 1));
  auto* nothing = arena.array<EntryMap::Entry>(1);
  if (domains == nullptr || nothing == nullptr) return nullptr;
  for (size_t i = 0; i < entries.size(); ++i)
    domains[i] = {Value::of(entries[i].first), Value::of(entries[i].second)};
  const EntryMap* made = EntryMap::make(domains, entries.size(), arena);
  const EntryMap* empty_map = EntryMap::make(nothing, 0, arena);
  if (made == nullptr || empty_map == nullptr) return nullptr;
  return arena.make<DomainMap>(*made, *empty_map);
}

std::optional<Value> PublishedDevice::read(const Path& path, Arena& arena) const {
  if (path.is_capacity) {
    const auto at = find_entry(entry_.capacity, path, driver_);
    return at == entry_.capacity.end() ? std::nullopt : capacity_value(at->second, arena);
  }
  const auto at = find_entry(entry_.attributes, path, driver_);
  return at == entry_.attributes.end() ? std::nullopt : to_value(at->second, arena);
}

template <class Entries, class ToValue>
const Map* PublishedDevice::domains_of(const Entries& entries, ToValue to_value, Arena& arena) const {
  std::map<std::string_view, std::vector<EntryMap::Entry>> by_domain;
  for (const auto& [key, item] : entries) {
    arena.step(kEntrySteps);
    const auto [domain, id] = split_key(std::string_view(key), driver_);
    if (const auto value = to_value(item, arena)) by_domain[domain].push_back({Value::of(id), *value});
  }
  std::vector<std::pair<std::string_view, const Map*>> domains;
  for (const auto& [domain, items] : by_domain) {
    auto* stored = arena.array<EntryMap::Entry>(items.size());
    if (stored == nullptr) return nullptr;
    std::copy(items.begin(), items.end(), stored);
    EntryMap* ids = EntryMap::make(stored, items.size(), arena);
    if (ids == nullptr) return nullptr;
    ids->keep_texts();
    domains.emplace_back(domain, ids);
  }
  return make_domain_map(domains, arena);
}

const Map* PublishedDevice::attributes(Arena& arena) const {
  return domains_of(
      entry_.attributes, [](const kube::AttributeValue& value, Arena& a) { return to_value(value, a); },
      arena);
}

const Map* PublishedDevice::capacity(Arena& arena) const {
  return domains_of(entry_.capacity, capacity_value, arena);
}

}  // namespace sliced::cel
