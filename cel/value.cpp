#include "cel/value.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "cel/comparing.h"
#include "cel/lib/cel_quantity.h"
#include "cel/lib/cidr.h"
#include "cel/lib/ip_address.h"
#include "cel/lib/numbers.h"
#include "cel/lib/semver.h"
#include "cel/lib/url_text.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

constexpr size_t kScannedMax = 8;  // entries of a map that are scanned one by one

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

// Values may share parts, so a short expression can compare exponentially many: each pair counts a step.
std::optional<bool> equal(const Value& a, const Value& b, Arena& arena, int depth);

std::optional<bool> equal_lists(const List& a, const List& b, Arena& arena, int depth) {
  if (a.size != b.size) return false;
  for (size_t i = 0; i < a.size; ++i) {
    const auto same = equal(a.items[i], b.items[i], arena, depth);
    if (same && !*same) return false;  // upstream continues after a refused comparison
    if (arena.is_worn_out()) return false;
  }
  return true;
}

std::optional<bool> equal_maps(const Map& a, const Map& b, Arena& arena, int depth) {
  arena.step(2 * kMapSizeSteps);
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto [key, value] = a.at(i, arena);
    if (!b.contains(key, arena)) return false;
    const auto other = b.get(key, arena);
    if (!other) return false;
    const auto same = equal(value, *other, arena, depth);
    if (same && !*same) return false;  // upstream continues after a refused comparison
    if (arena.is_worn_out()) return false;
  }
  return true;
}

// Texts, which are compared in blocks.
void step_for_both(Text a, Text b, Arena& arena) { arena.step_for(std::min(a.size, b.size), kBlockBytes); }

// Compares two values of one library kind by ==; nullopt if the kind does not support it.
std::optional<bool> equal_opaque(const Value& a, const Value& b, Arena& arena) {
  switch (a.kind) {
    case Kind::kQuantity:
      if (as<CelQuantity>(b).is_sum()) return std::nullopt;
      step_for_both(as<CelQuantity>(a), as<CelQuantity>(b), arena);
      return as<CelQuantity>(a) == as<CelQuantity>(b);
    case Kind::kSemver:
      step_for_both(as<Semver>(a), as<Semver>(b), arena);
      return as<Semver>(a) == as<Semver>(b);
    case Kind::kIp:
      return as<IpAddress>(a) == as<IpAddress>(b);
    case Kind::kCidr:
      return as<Cidr>(a) == as<Cidr>(b);
    case Kind::kUrl:
      step_for_both(as<UrlText>(a), as<UrlText>(b), arena);
      return as<UrlText>(a) == as<UrlText>(b);
    default:
      return a.opaque == b.opaque;
  }
}

// Kubernetes' own types.
bool refuses_others(Kind kind) { return kind >= Kind::kQuantity; }

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
    case Kind::kInt:
    case Kind::kUint:
      mix(key.u);
      break;
    case Kind::kDouble:
      mix(key.d == 0 ? 0 : std::bit_cast<uint64_t>(key.d));
      break;
    default:
      mix(static_cast<uint64_t>(key.kind));  // few such keys exist
  }
  return hash ^ (hash >> 29);
}

// Steps of hashing a key, and of comparing it.
void step_for_key(const Value& key, Arena& arena) {
  arena.step_for(key.kind == Kind::kString ? key.s.size : 0, kReadBytes);
}

// Compares like Go's interface values: equal kinds; types that upstream uses by pointer are compared by
// address.
bool same_key(const Value& a, const Value& b, Arena& arena) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return a.b == b.b;
    case Kind::kInt:
    case Kind::kUint:
      return a.u == b.u;
    case Kind::kDouble:
      return a.d == b.d;
    case Kind::kString:
    case Kind::kType:
      return a.text() == b.text();
    case Kind::kDuration:
      return a.time == b.time;
    case Kind::kTimestamp:  // each reading of another zone makes a zone of its own
      return a.time == b.time && a.time.zone_minutes == 0 && b.time.zone_minutes == 0;
    case Kind::kIp:
    case Kind::kCidr:
      return equal_opaque(a, b, arena).value_or(false);
    default:
      return a.opaque == b.opaque;
  }
}

std::optional<Value> as_int(const Value& key) {
  if (key.kind == Kind::kUint && std::in_range<int64_t>(key.u)) return Value::of(static_cast<int64_t>(key.u));
  if (key.kind != Kind::kDouble || !(key.d > -kTwo63 && key.d < kTwo63) || std::trunc(key.d) != key.d)
    return std::nullopt;
  return Value::of(static_cast<int64_t>(key.d));
}
std::optional<Value> as_uint(const Value& key) {
  if (key.kind == Kind::kInt && key.i >= 0) return Value::of(static_cast<uint64_t>(key.i));
  if (key.kind != Kind::kDouble || !(key.d >= 0 && key.d < kTwo64) || std::trunc(key.d) != key.d)
    return std::nullopt;
  return Value::of(static_cast<uint64_t>(key.d));
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
      return "the result is a " + of + ", expected a bool";
    case Failure::kNoMemory:
      return "it makes more than an evaluation may make";
    case Failure::kCost:
      return "it costs more than an evaluation may cost";
    case Failure::kSteps:
      return "it takes more work steps than an evaluation may take";
    case Failure::kDepth:
      return "it is nested too deep, or compares or shows a value that is nested more than " +
             std::to_string(kDepthMax) + " deep";
    case Failure::kBreaksOff:
      return "Kubernetes breaks off at " + of;
  }
  return "";
}

EntryMap* EntryMap::make(Entry* entries, size_t size, Arena& arena) {
  void* at = arena.allocate(sizeof(EntryMap));
  if (at == nullptr) return nullptr;
  auto* map = new (at) EntryMap(entries);  // trivial members: reset() need not destroy it
  if (size > kScannedMax) {
    size_t buckets = 16;
    while (buckets < size * 2) buckets *= 2;
    map->buckets_ = arena.array<uint32_t>(buckets);
    if (map->buckets_ == nullptr) return nullptr;
    std::memset(map->buckets_, 0, buckets * sizeof *map->buckets_);
    map->mask_ = buckets - 1;
  }
  // Never beyond the read entries. After the steps end, the map is no longer read.
  for (size_t i = 0; i < size && arena.step(); ++i) map->add(entries[i], arena);
  size_t kept = 0;
  for (size_t i = 0; i < map->size_; ++i)
    if (!entries[i].value.is_error()) entries[kept++] = entries[i];
  if (kept == map->size_) return map;
  return make(entries, kept, arena);  // the buckets name other places now
}

void EntryMap::add(const Entry& entry, Arena& arena) {
  const Entry added = entry;
  if (Entry* same = find(added.key, arena)) {
    repeated_ = true;
    same->value = added.value;
    return;
  }
  if (added.value.is_error()) return;
  repeated_ = repeated_ || find_like(added.key, arena) != nullptr;
  entries_[size_++] = added;
  if (buckets_ == nullptr) return;
  size_t at = hash_of(added.key) & mask_;
  while (buckets_[at] != 0 && arena.step()) at = (at + 1) & mask_;
  buckets_[at] = static_cast<uint32_t>(size_);
}

// Keys may be chosen to collide: each visited one counts a step.
EntryMap::Entry* EntryMap::find(const Value& key, Arena& arena) const {
  step_for_key(key, arena);
  if (buckets_ == nullptr) {
    for (size_t i = 0; i < size_; ++i)
      if (same_key(entries_[i].key, key, arena)) return &entries_[i];
    return nullptr;
  }
  for (size_t at = hash_of(key) & mask_; buckets_[at] != 0 && arena.step(); at = (at + 1) & mask_)
    if (Entry& entry = entries_[buckets_[at] - 1]; same_key(entry.key, key, arena)) return &entry;
  return nullptr;
}

// Finds a number under another kind of key.
EntryMap::Entry* EntryMap::find_like(const Value& key, Arena& arena) const {
  Entry* found = nullptr;
  if (const auto as = as_int(key)) found = find(*as, arena);
  if (found != nullptr) return found;
  const auto as = as_uint(key);
  return as ? find(*as, arena) : nullptr;
}

std::optional<Value> EntryMap::get(const Value& key, Arena& arena) const {
  const Entry* found = find(key, arena);
  if (found == nullptr && key.is_number()) found = find_like(key, arena);
  return found == nullptr ? std::nullopt : std::optional(found->value);
}

bool is_hashable(const Value& value) {
  return value.kind != Kind::kBytes && value.kind != Kind::kSemver && value.kind != Kind::kFormat;
}

namespace {

// One of the texts of one value is one of the other's.
bool equal_with_others(const Value& a, const Value& b, Arena& arena) {
  const auto each_text = [](const Value& value, const auto& on_text) {
    std::string_view rest(value.s.data, value.s.size + value.others_size);
    std::string_view text = value.text();
    for (;;) {
      if (on_text(text)) return true;
      rest.remove_prefix(text.size());
      if (rest.empty()) return false;
      rest.remove_prefix(1);
      text = rest.substr(0, rest.find('\0'));
    }
  };
  return each_text(a,
                   [&](std::string_view one) {
                     return each_text(b, [&](std::string_view other) {
                       step_for_both({one.data(), one.size()}, {other.data(), other.size()}, arena);
                       return one == other || arena.is_worn_out();
                     });
                   }) &&
         !arena.is_worn_out();
}

std::optional<bool> equal(const Value& a, const Value& b, Arena& arena, int depth) {
  if (!arena.step()) return false;
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind != b.kind) {
    return refuses_others(a.kind) && b.kind != Kind::kNull ? std::nullopt : std::optional(false);
  }
  switch (a.kind) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return a.b == b.b;
    case Kind::kString:
      if (a.others_size + b.others_size > 0) return equal_with_others(a, b, arena);
      [[fallthrough]];
    case Kind::kBytes:
    case Kind::kType:
      step_for_both(a.s, b.s, arena);
      return a.text() == b.text();
    case Kind::kTimestamp:
    case Kind::kDuration:
      return a.time == b.time;
    case Kind::kDevice:
      return a.opaque == b.opaque;
    case Kind::kList:
    case Kind::kMap:
    case Kind::kOptional:
      break;
    default:
      return equal_opaque(a, b, arena);
  }
  if (depth == kDepthMax) return arena.exceed_depth();
  if (a.kind == Kind::kList) return equal_lists(*a.list, *b.list, arena, depth + 1);
  if (a.kind == Kind::kMap) return equal_maps(*a.map, *b.map, arena, depth + 1);
  if (a.optional == nullptr || b.optional == nullptr) return a.optional == b.optional;
  return equal(*a.optional, *b.optional, arena, depth + 1);
}

}  // namespace

std::optional<bool> equal(const Value& a, const Value& b, Arena& arena) { return equal(a, b, arena, 0); }

int compare(const Value& a, const Value& b, Arena& arena) {
  if (!arena.step()) return 0;
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.kind != b.kind) return kMismatch;
  switch (a.kind) {
    case Kind::kBool:
      return three_way(a.b, b.b);
    case Kind::kString:
    case Kind::kBytes: {
      step_for_both(a.s, b.s, arena);
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
