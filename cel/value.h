#pragma once
// Values of the Common Expression Language (github.com/google/cel-spec, doc/langdef.md).
//
// A Value is small and copied freely; text, lists, maps and the like that it points to belong to an Arena, to
// the program (constants) or to the device that is asked about, and outlive the evaluation.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cel/arena.h"

namespace sliced::cel {

/// What a value is: the kinds of the language (cel-spec, "Values"), and those of Kubernetes' libraries
/// (k8s.io/apiserver pkg/cel/library). The order counts: Kubernetes' own come last.
enum class Kind : uint8_t {
  kError,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kList,
  kMap,
  kType,
  kTimestamp,
  kDuration,
  kOptional,
  kDevice,
  // Kubernetes' own
  kQuantity,
  kSemver,
  kIp,
  kCidr,
  kUrl,
  kFormat
};
/// As type() and messages spell it: "int", "google.protobuf.Timestamp", "kubernetes.Quantity".
std::string_view name_of(Kind kind);

/// Why an expression has no value. The order counts: see ends_evaluation().
enum class Failure : uint8_t {
  kNoSuchKey,
  kNoSuchOverload,
  kInvalidArgument,
  kDivideByZero,
  kOverflow,
  kUndeclared,
  kNotBool,
  // From here on nothing absorbs them.
  kNoMemory,  // more than an evaluation may make
  kCost,      // more than an evaluation may cost
  kSteps,     // more work than an evaluation may take
  kDepth,     // a value nested deeper than kDepthMax is compared or shown; expressions deeper than kNestedMax
  kBreaksOff  // Kubernetes' evaluator gives up there
};

/// Those above are absorbed: `false && error` is false, and || and quantifiers likewise. These are not, since
/// whoever is over a limit must not go on.
constexpr bool ends_evaluation(Failure failure) { return failure >= Failure::kNoMemory; }

/// An error is a value, which operators absorb or pass on. Its text is made when somebody asks.
/// The error object is the arena's (Evaluation::fail) or a constant, and so is `about`: neither outlives the
/// evaluation.
struct EvalError {
  Failure failure;
  int32_t offset;          // of the code point in the expression, -1 unknown
  std::string_view about;  // the key, the function ...
  /// Foreign text in it is escaped, and cut at 64 bytes.
  std::string text() const;
};

class Map;
struct List;
struct Value;

/// Seconds and nanoseconds, as protobuf's Timestamp and Duration have them. Of a timestamp: since 1970, counted
/// forward. Of a duration: of one sign.
struct Time {
  int64_t seconds;
  int32_t nanos;
  int16_t zone_minutes;  // of a timestamp, for its text alone: east of UTC, as it was written
  bool operator==(const Time& other) const { return seconds == other.seconds && nanos == other.nanos; }
};

/// Bytes that belong to somebody else: never a copy.
/// A plain struct and no string_view, so that Value's union has trivial members; Value::text() gives the
/// view.
struct Text {
  const char* data;
  size_t size;
};

/// 24 bytes, copied freely. kind says which member of the union counts; reading another is a mistake of
/// ours. What it points to belongs to an arena, a program or a device, and is not looked after here: whoever keeps
/// a value keeps that.
struct Value {
  Kind kind = Kind::kNull;
  /// Of kString: bytes after the text, in the same array, of other texts that == and `in` take for it. Each follows a NUL. An interface
  /// with alternative names has them; no other operator sees them, and no expression makes such a value.
  uint32_t others_size = 0;
  union {
    bool b;
    int64_t i;
    uint64_t u;
    double d;
    Text s;  // kString (UTF-8), kBytes, kType (its name)
    Time time;
    const List* list;
    const Map* map;
    const Value* optional;  // nullptr: none
    const void* opaque;     // kDevice and Kubernetes' own: the value of the library's type
    const EvalError* error;
  };

  // Null, like null(): all of the union is set, so that a copy reads nothing that was never written.
  Value() : u(0) {}
  static Value null() { return {}; }
  /// Overloads by type: a literal 0 fits none alone, and int is never taken for bool.
  static Value of(bool value) {
    return make(Kind::kBool, [&](Value& v) { v.b = value; });
  }
  static Value of(int64_t value) {
    return make(Kind::kInt, [&](Value& v) { v.i = value; });
  }
  static Value of(uint64_t value) {
    return make(Kind::kUint, [&](Value& v) { v.u = value; });
  }
  static Value of(double value) {
    return make(Kind::kDouble, [&](Value& v) { v.d = value; });
  }
  /// The text stays whose it is and must outlive the value (Arena::copy where nobody else keeps it). kind:
  /// kString, kBytes, kType.
  static Value of(std::string_view text, Kind kind = Kind::kString) {
    return make(kind, [&](Value& v) { v.s = {text.data(), text.size()}; });
  }
  static Value of(const char*) = delete;
  /// A text with others_size bytes after it.
  static Value with_others(std::string_view text, uint32_t others_size) {
    Value value = of(text);
    value.others_size = others_size;
    return value;
  }
  static Value type(std::string_view name) { return of(name, Kind::kType); }
  static Value timestamp(Time time) {
    return make(Kind::kTimestamp, [&](Value& v) { v.time = time; });
  }
  static Value duration(Time time) {
    return make(Kind::kDuration, [&](Value& v) { v.time = time; });
  }
  /// The list outlives the value, and its items do.
  static Value of(const List* list) {
    return make(Kind::kList, [&](Value& v) { v.list = list; });
  }
  static Value of(const Map* map) {
    return make(Kind::kMap, [&](Value& v) { v.map = map; });
  }
  /// nullptr: none. The value is the arena's.
  static Value some_or_none(const Value* value) {
    return make(Kind::kOptional, [&](Value& v) { v.optional = value; });
  }
  /// object: of the library's own type for that kind; it outlives the value.
  static Value opaque_of(Kind kind, const void* object) {
    return make(kind, [&](Value& v) { v.opaque = object; });
  }
  static Value of(const EvalError* error) {
    return make(Kind::kError, [&](Value& v) { v.error = error; });
  }

  // What it is, without looking further.
  bool is_error() const { return kind == Kind::kError; }
  bool is_true() const { return kind == Kind::kBool && b; }
  bool is_number() const { return kind == Kind::kInt || kind == Kind::kUint || kind == Kind::kDouble; }
  /// Of kString, kBytes and kType alone.
  std::string_view text() const { return {s.data, s.size}; }

 private:
  // All members are set through here, so that kind and member cannot disagree.
  template <class Set>
  static Value make(Kind kind, Set set) {
    Value value;
    value.kind = kind;
    set(value);
    return value;
  }
};

/// Immutable once it is made. Its items are the arena's, the program's or the device's.
struct List {
  const Value* items;
  size_t size;
  const Value* begin() const { return items; }
  const Value* end() const { return items + size; }
};

/// A map that need not be held in memory: what a device's attributes are. What is given an arena takes its
/// steps; size() takes kMapSizeSteps.
inline constexpr uint64_t kMapSizeSteps = 4;
/// Threads: const, and asked by one evaluation at a time. What at() and get() give is valid as long as the
/// map and the arena are.
class Map {
 public:
  virtual ~Map() = default;
  /// Constant while the evaluation lasts: whoever walks the map asks once.
  virtual size_t size() const = 0;
  /// The entry at 0 <= index < size().
  /// The order is the map's own and stays; it decides what comprehensions see first.
  virtual std::pair<Value, Value> at(size_t index, Arena& arena) const = 0;
  /// What map[key] and map.key read; nullopt: no such key.
  virtual std::optional<Value> get(const Value& key, Arena& arena) const = 0;
  /// What has() and the optional syntax see.
  virtual bool has(const Value& key, Arena& arena) const { return get(key, arena).has_value(); }
  /// Whether upstream breaks off at a key that is not is_hashable().
  virtual bool is_hashed() const { return false; }
  /// What `in` sees.
  virtual bool contains(const Value& key, Arena& arena) const { return has(key, arena); }
};

/// A map of given entries. Keys are of any kind that is_hashable(), and each kind has its own: 1 and 1u are
/// two. What is looked up is found as upstream finds it: an int also as a uint, a uint as an int, a double as
/// either.
/// Cost: up to 8 entries are looked through one by one; of more there is a hash table with twice the places.
/// Each place that is looked at takes a step, so that keys chosen to collide cost what they take.
class EntryMap final : public Map {
 public:
  struct Entry {
    Value key, value;
  };
  /// Takes the array, which belongs to the arena. A key that stands again has the last value; an error as
  /// value takes the key away. nullptr: no memory.
  static EntryMap* make(Entry* entries, size_t size, Arena& arena);
  /// Its keys are texts alone, in whatever upstream has of a device.
  void keep_texts() { has_any_keys_ = false; }
  bool is_hashed() const override { return has_any_keys_ && size_ > 0; }
  /// Whether an entry was found by what came before it.
  bool repeated() const { return repeated_; }

  size_t size() const override { return size_; }
  std::pair<Value, Value> at(size_t index, Arena&) const override {
    return {entries_[index].key, entries_[index].value};
  }
  std::optional<Value> get(const Value& key, Arena& arena) const override;

 private:
  friend class Arena;
  explicit EntryMap(Entry* entries) : entries_(entries) {}
  // By kind and value, as Go compares what is in an interface.
  Entry* find(const Value& key, Arena& arena) const;
  // A number as the other kinds of number that it equals; nullptr for fractions and what has no room there.
  Entry* find_like(const Value& key, Arena& arena) const;
  // An error as value of a key that is new adds nothing.
  void add(const Entry& entry, Arena& arena);
  // The arena's, in the order in which keys were first met; size_ of them count.
  Entry* entries_;
  size_t size_ = 0;
  uint32_t* buckets_ = nullptr;  // index + 1 of an entry, 0 empty; for many entries
  size_t mask_ = 0;
  bool repeated_ = false, has_any_keys_ = true;
};

/// The object of a value whose kind is a library's own: the kind says which T it is.
/// Not checked: for a value of another kind this reads what is not there.
template <class T>
const T& as(const Value& value) {
  return *static_cast<const T*>(value.opaque);
}

/// Whether a value may be a key of a map: in the language, and in Kubernetes, which breaks off at others.
constexpr bool is_strict_key(Kind kind) {
  return kind == Kind::kBool || kind == Kind::kInt || kind == Kind::kUint || kind == Kind::kString;
}
/// bytes, semver and format are not: Go panics at them as keys, and upstream's evaluator ends there.
bool is_hashable(const Value& value);

/// ==; nullopt where the left one's type refuses to be compared with the right one (Kubernetes: quantity,
/// semver). Functions take that for false, != for true. Takes the arena's steps, also for what is within;
/// beyond its limits the answer is false, and counts for nothing.
std::optional<bool> equal(const Value& a, const Value& b, Arena& arena);
/// <: negative, 0, positive; kUnordered with a NaN, kMismatch where no order is defined.
inline constexpr int kUnordered = 2, kMismatch = 3;
/// Numbers of all three kinds on one line; bools, texts, bytes, timestamps and durations with their like.
int compare(const Value& a, const Value& b, Arena& arena);

}  // namespace sliced::cel
