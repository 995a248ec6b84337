#include "policy/cel/value.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "policy/cel/lib/numbers.h"
#include "policy/cel/library.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

constexpr size_t kScannedMax = 8;  // entries of a map that are looked through one by one
constexpr double kTwo63 = 9223372036854775808.0, kTwo64 = 18446744073709551616.0;

template <class T>
int three_way(T a, T b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

template <class Order>
int as_int(Order order) {
  if (order < 0) return -1;
  if (order > 0) return 1;
  return order == 0 ? 0 : kUnordered;
}

int compare_numbers(const Value& a, const Value& b) {
  if (a.kind == b.kind) {
    if (a.kind == Kind::kInt) return three_way(a.i, b.i);
    if (a.kind == Kind::kUint) return three_way(a.u, b.u);
    return as_int(a.d <=> b.d);
  }
  if (a.kind == Kind::kInt)
    return b.kind == Kind::kUint ? as_int(compare(a.i, b.u)) : as_int(compare(a.i, b.d));
  if (a.kind == Kind::kUint && b.kind == Kind::kDouble) return as_int(compare(a.u, b.d));
  const int turned = compare_numbers(b, a);
  return turned == kUnordered ? kUnordered : -turned;
}

std::optional<bool> equal_lists(const List& a, const List& b, Arena& arena) {
  if (a.size != b.size) return false;
  for (size_t i = 0; i < a.size; ++i) {
    const auto same = equal(a.items[i], b.items[i], arena);
    if (same && !*same) return false;  // upstream goes on where two refuse each other
  }
  return true;
}

std::optional<bool> equal_maps(const Map& a, const Map& b, Arena& arena) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto [key, value] = a.at(i, arena);
    if (!b.contains(key, arena)) return false;
    const auto other = b.get(key, arena);
    if (!other) return false;
    const auto same = equal(value, *other, arena);
    if (same && !*same) return false;  // upstream goes on where two refuse each other
  }
  return true;
}

bool refuses_others(Kind kind) { return kind == Kind::kQuantity || kind == Kind::kSemver; }

// One hash for numbers that are equal across kinds.
size_t hash_of(const Value& key) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&](uint64_t x) { hash = (hash ^ x) * 0x9E3779B97F4A7C15u; };
  switch (key.kind) {
    case Kind::kString:
      for (const char c : key.text()) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
      break;
    case Kind::kBool:
      mix(key.b ? 3 : 2);
      break;
    case Kind::kDouble:
      mix(key.d < 0 ? static_cast<uint64_t>(static_cast<int64_t>(key.d)) : static_cast<uint64_t>(key.d));
      break;
    default:
      mix(key.u);
  }
  return hash ^ (hash >> 29);
}

// What a number is as a key: of any kind, by value; nullopt when no key can be equal to it.
std::optional<Value> as_key(const Value& key) {
  if (key.kind != Kind::kDouble) return is_key(key) ? std::optional(key) : std::nullopt;
  if (std::trunc(key.d) != key.d) return std::nullopt;
  if (key.d >= -kTwo63 && key.d < kTwo63) return Value::of(static_cast<int64_t>(key.d));
  if (key.d >= 0 && key.d < kTwo64) return Value::of(static_cast<uint64_t>(key.d));
  return std::nullopt;
}

bool same_key(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind != b.kind) return false;
  return a.kind == Kind::kBool ? a.b == b.b : a.text() == b.text();
}

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::kError:
      return "error";
    case Kind::kNull:
      return "null_type";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kUint:
      return "uint";
    case Kind::kDouble:
      return "double";
    case Kind::kString:
      return "string";
    case Kind::kBytes:
      return "bytes";
    case Kind::kList:
      return "list";
    case Kind::kMap:
      return "map";
    case Kind::kType:
      return "type";
    case Kind::kTimestamp:
      return "google.protobuf.Timestamp";
    case Kind::kDuration:
      return "google.protobuf.Duration";
    case Kind::kOptional:
      return "optional_type";
    case Kind::kDevice:
      return "kubernetes.DRADevice";
    case Kind::kQuantity:
      return "kubernetes.Quantity";
    case Kind::kSemver:
      return "kubernetes.Semver";
    case Kind::kIp:
      return "net.IP";
    case Kind::kCidr:
      return "net.CIDR";
    case Kind::kUrl:
      return "kubernetes.URL";
    case Kind::kFormat:
      return "kubernetes.NamedFormat";
  }
  return "";
}

std::string EvalError::text() const {
  const std::string of = escaped(about, 64);
  switch (failure) {
    case Failure::kNoSuchKey:
      return "no such key: " + of;
    case Failure::kNoSuchOverload:
      return "no such overload" + (of.empty() ? "" : ": " + of);
    case Failure::kInvalidArgument:
      return printable(about);  // a sentence, in which foreign text is escaped and quoted already
    case Failure::kDivideByZero:
      return of + " by zero";
    case Failure::kOverflow:
      return "overflow: " + of;
    case Failure::kUndeclared:
      return "no such variable: " + of;
    case Failure::kNotBool:
      return "the result is a " + of + ", wants a bool";
    case Failure::kNoMemory:
      return "it makes more than an evaluation may make";
    case Failure::kCost:
      return "it costs more than an evaluation may cost";
  }
  return "";
}

EntryMap* EntryMap::make(Entry* entries, size_t size, Arena& arena) {
  void* at = arena.allocate(sizeof(EntryMap));
  if (at == nullptr) return nullptr;
  auto* map = new (at) EntryMap(entries, size);  // trivial members: reset() need not destroy it
  if (size > kScannedMax) {
    size_t buckets = 16;
    while (buckets < size * 2) buckets *= 2;
    map->buckets_ = arena.array<uint32_t>(buckets);
    if (map->buckets_ == nullptr) return nullptr;
    std::memset(map->buckets_, 0, buckets * sizeof *map->buckets_);
    map->mask_ = buckets - 1;
  }
  for (size_t i = 0; i < size; ++i) {
    map->size_ = i;
    if (map->find(entries[i].key) != nullptr && !map->repeated_) map->repeated_ = i;
    if (map->buckets_ == nullptr) continue;
    size_t at_bucket = hash_of(entries[i].key) & map->mask_;
    while (map->buckets_[at_bucket] != 0) at_bucket = (at_bucket + 1) & map->mask_;
    map->buckets_[at_bucket] = static_cast<uint32_t>(i + 1);
  }
  map->size_ = size;
  return map;
}

const EntryMap::Entry* EntryMap::find(const Value& key) const {
  if (buckets_ == nullptr) {
    for (size_t i = 0; i < size_; ++i)
      if (same_key(entries_[i].key, key)) return &entries_[i];
    return nullptr;
  }
  for (size_t at = hash_of(key) & mask_; buckets_[at] != 0; at = (at + 1) & mask_)
    if (const Entry& entry = entries_[buckets_[at] - 1]; same_key(entry.key, key)) return &entry;
  return nullptr;
}

std::optional<Value> EntryMap::get(const Value& key, Arena&) const {
  const auto as = as_key(key);
  const Entry* found = as ? find(*as) : nullptr;
  return found == nullptr ? std::nullopt : std::optional(found->value);
}

bool is_key(const Value& value) {
  return value.kind == Kind::kBool || value.kind == Kind::kInt || value.kind == Kind::kUint ||
         value.kind == Kind::kString;
}

std::optional<bool> equal(const Value& a, const Value& b, Arena& arena) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind != b.kind) {
    return refuses_others(a.kind) ? std::nullopt : std::optional(false);
  }
  switch (a.kind) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return a.b == b.b;
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
      return a.text() == b.text();
    case Kind::kTimestamp:
    case Kind::kDuration:
      return a.time == b.time;
    case Kind::kList:
      return equal_lists(*a.list, *b.list, arena);
    case Kind::kMap:
      return equal_maps(*a.map, *b.map, arena);
    case Kind::kOptional:
      if (a.optional == nullptr || b.optional == nullptr) return a.optional == b.optional;
      return equal(*a.optional, *b.optional, arena);
    case Kind::kDevice:
      return a.opaque == b.opaque;
    default:
      return equal_opaque(a, b);
  }
}

int compare(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.kind != b.kind) return kMismatch;
  switch (a.kind) {
    case Kind::kBool:
      return three_way(a.b, b.b);
    case Kind::kString:
    case Kind::kBytes: {
      const int order = a.text().compare(b.text());
      return three_way(order, 0);
    }
    case Kind::kTimestamp:
    case Kind::kDuration:
      return a.time.seconds != b.time.seconds ? three_way(a.time.seconds, b.time.seconds)
                                              : three_way(a.time.nanos, b.time.nanos);
    default:
      return kMismatch;
  }
}

}  // namespace sliced::cel
