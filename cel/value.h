#pragma once
// Values of the Common Expression Language (github.com/google/cel-spec, doc/langdef.md). A Value is small and
// copied freely. Its text, list, map or other data belongs to an Arena, to the program (constants) or to the
// device, and outlives the evaluation.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cel/arena.h"

namespace sliced::cel {

/// The kinds of the language (cel-spec, "Values"), and of Kubernetes' libraries (k8s.io/apiserver
/// pkg/cel/library). The order matters: Kubernetes' own come last.
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
/// Returns the name for type() and messages: "int", "google.protobuf.Timestamp", "kubernetes.Quantity".
std::string_view name_of(Kind kind);

/// Why an expression has no value. The order matters: see ends_evaluation().
enum class Failure : uint8_t {
  kNoSuchKey,
  kNoSuchOverload,
  kInvalidArgument,
  kDivideByZero,
  kOverflow,
  kUndeclared,
  kNotBool,
  // The following are not absorbed.
  kNoMemory,  // memory limit of an evaluation
  kCost,      // cost limit of an evaluation
  kSteps,     // step limit of an evaluation
  kDepth,     // a value nested deeper than kDepthMax is compared or shown; expressions deeper than kNestedMax
  kBreaksOff  // Kubernetes' evaluator aborts in this case
};

/// Earlier failures are absorbed: `false && error` is false, and || and quantifiers likewise. These are not,
/// because an evaluation above a limit must end.
constexpr bool ends_evaluation(Failure failure) { return failure >= Failure::kNoMemory; }

/// An error is a value, which operators absorb or pass on. Its text is built on demand. The error object and
/// `about` belong to the arena (Evaluation::fail) or are constants: they do not outlive the evaluation.
struct EvalError {
  Failure failure;
  int32_t offset;          // of the code point in the expression, -1 if unknown
  std::string_view about;  // the key, the function ...
  /// Foreign text in it is escaped, and truncated at 64 bytes.
  std::string text() const;
};

class Map;
struct List;
struct Value;

/// Seconds and nanoseconds, as in protobuf's Timestamp and Duration. Timestamp: since 1970, counted forward.
/// Duration: both have the same sign.
struct Time {
  int64_t seconds;
  int32_t nanos;
  int16_t zone_minutes;  // timestamp, for its text only: east of UTC, as it was written
  bool operator==(const Time& other) const { return seconds == other.seconds && nanos == other.nanos; }
};

/// A reference to bytes, never a copy. A plain struct instead of string_view, so that Value's union has
/// trivial members; Value::text() returns the view.
struct Text {
  const char* data;
  size_t size;
};

/// 24 bytes, copied freely. kind selects the member of the union; reading another one is a bug. It owns
/// nothing: its data belongs to an arena, a program or a device, which the holder of a value keeps alive.
struct Value {
  Kind kind = Kind::kNull;
  /// kString: number of bytes after the text, in the same array, with other texts that == and `in` treat as
  /// equal. Each follows a NUL. Used for an interface with alternative names; no other operator reads them,
  /// and no expression creates such a value.
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

  // Null, like null(): sets the whole union, so that a copy reads no uninitialized bytes.
  Value() : u(0) {}
  static Value null() { return {}; }
  /// Overloads by type: a literal 0 is ambiguous, and int never converts to bool.
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
  /// The text must outlive the value (Arena::copy if it has no other owner). kind: kString, kBytes, kType.
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
  /// The list and its items outlive the value.
  static Value of(const List* list) {
    return make(Kind::kList, [&](Value& v) { v.list = list; });
  }
  static Value of(const Map* map) {
    return make(Kind::kMap, [&](Value& v) { v.map = map; });
  }
  /// nullptr: none. The value belongs to the arena.
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

  // Tests of the kind.
  bool is_error() const { return kind == Kind::kError; }
  bool is_true() const { return kind == Kind::kBool && b; }
  bool is_number() const { return kind == Kind::kInt || kind == Kind::kUint || kind == Kind::kDouble; }
  /// Only for kString, kBytes and kType.
  std::string_view text() const { return {s.data, s.size}; }

 private:
  // Sets kind and member together, so that they match.
  template <class Set>
  static Value make(Kind kind, Set set) {
    Value value;
    value.kind = kind;
    set(value);
    return value;
  }
};

/// Immutable after construction. Its items belong to the arena, the program or the device.
struct List {
  const Value* items;
  size_t size;
  const Value* begin() const { return items; }
  const Value* end() const { return items + size; }
};

/// A map that need not be stored: such as a device's attributes. Functions with an arena count steps in it;
/// size() counts kMapSizeSteps.
inline constexpr uint64_t kMapSizeSteps = 4;
/// Threads: const, used by one evaluation at a time. Results of at() and get() are valid as long as the map
/// and the arena.
class Map {
 public:
  virtual ~Map() = default;
  /// Constant during the evaluation.
  virtual size_t size() const = 0;
  /// Returns the entry at 0 <= index < size(). The order is the map's own and fixed; it is the order of
  /// comprehensions.
  virtual std::pair<Value, Value> at(size_t index, Arena& arena) const = 0;
  /// For map[key] and map.key; nullopt if there is no such key.
  virtual std::optional<Value> get(const Value& key, Arena& arena) const = 0;
  /// For has() and the optional syntax.
  virtual bool has(const Value& key, Arena& arena) const { return get(key, arena).has_value(); }
  /// Returns whether upstream aborts for a key that is not is_hashable().
  virtual bool is_hashed() const { return false; }
  /// For `in`.
  virtual bool contains(const Value& key, Arena& arena) const { return has(key, arena); }
};

/// A map of given entries. Keys are of any kind with is_hashable(), and kinds are distinct: 1 and 1u are two
/// keys. Look-ups follow upstream: an int also finds a uint, a uint an int, a double either. Cost: up to 8
/// entries are scanned; more use a hash table of twice the size. Each visited slot counts a step, so that
/// colliding keys are paid for.
class EntryMap final : public Map {
 public:
  struct Entry {
    Value key, value;
  };
  /// Takes ownership of the array, which is in the arena. A repeated key has the last value; an error value
  /// removes the key. nullptr: no memory.
  static EntryMap* make(Entry* entries, size_t size, Arena& arena);
  /// All keys are texts, also upstream (a device's attributes).
  void keep_texts() { has_any_keys_ = false; }
  bool is_hashed() const override { return has_any_keys_ && size_ > 0; }
  /// Returns whether an entry had the key of an earlier one.
  bool repeated() const { return repeated_; }

  size_t size() const override { return size_; }
  std::pair<Value, Value> at(size_t index, Arena&) const override {
    return {entries_[index].key, entries_[index].value};
  }
  std::optional<Value> get(const Value& key, Arena& arena) const override;

 private:
  friend class Arena;
  explicit EntryMap(Entry* entries) : entries_(entries) {}
  // By kind and value, as Go compares interface values.
  Entry* find(const Value& key, Arena& arena) const;
  // Finds a number by the other kinds of number that it equals; nullptr for fractions and values out of
  // range.
  Entry* find_like(const Value& key, Arena& arena) const;
  // An error value for a new key adds nothing.
  void add(const Entry& entry, Arena& arena);
  // In the arena, in the order of the keys' first occurrence; the first size_ are used.
  Entry* entries_;
  size_t size_ = 0;
  uint32_t* buckets_ = nullptr;  // index + 1 of an entry, 0 empty; for many entries
  size_t mask_ = 0;
  bool repeated_ = false, has_any_keys_ = true;
};

/// Returns the object of a value of a library's kind, which determines T. Not checked: undefined for another
/// kind.
template <class T>
const T& as(const Value& value) {
  return *static_cast<const T*>(value.opaque);
}

/// Returns whether the language permits a map key of this kind. Kubernetes aborts for others.
constexpr bool is_strict_key(Kind kind) {
  return kind == Kind::kBool || kind == Kind::kInt || kind == Kind::kUint || kind == Kind::kString;
}
/// False for bytes, semver and format: Go panics for such keys, and upstream's evaluator ends.
bool is_hashable(const Value& value);

/// ==. Returns nullopt if the left type refuses the comparison (Kubernetes: quantity, semver); functions
/// treat that as false, != as true. Counts the arena's steps, including nested values; beyond its limits the
/// result is false and must be ignored.
std::optional<bool> equal(const Value& a, const Value& b, Arena& arena);
/// <: negative, 0, positive; kUnordered with a NaN, kMismatch if no order is defined.
inline constexpr int kUnordered = 2, kMismatch = 3;
/// Compares numbers across the three kinds; bools, texts, bytes, timestamps and durations with their own
/// kind.
int compare(const Value& a, const Value& b, Arena& arena);

}  // namespace sliced::cel
