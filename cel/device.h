#pragma once
// What an expression sees of a device: the variable `device` with its fields driver,
// allowMultipleAllocations, attributes[domain].id and capacity[domain].id.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/types.h"
#include "cel/value.h"

namespace sliced::cel {

/// device.attributes["domain"].id with both parts known when the expression is compiled.
/// Found once by compiling; asked of each device. domain and id are as the expression writes them.
struct Path {
  bool is_capacity = false;
  std::string domain, id;
  std::string key;  // "domain/id"
  int known = -1;   // index of KnownAttributes, -1 without them
};

/// Attributes that are known beforehand, with their types; any other is a mistake in the expression.
/// Used while compiling only, on whichever thread compiles; must answer alike each time.
class KnownAttributes {
 public:
  virtual ~KnownAttributes() = default;
  struct Attribute {
    int index;
    Kind kind;
  };
  /// domain as the expression writes it. nullopt: a mistake, which compiling reports with what there is
  /// instead.
  virtual std::optional<Attribute> find(std::string_view domain, std::string_view id) const = 0;
  /// For messages: what there is instead.
  virtual std::vector<std::string_view> domains() const = 0;
  virtual std::vector<std::string_view> ids(std::string_view domain) const = 0;
};

/// One device during an evaluation. Texts and maps live as long as the evaluation.
/// Threads: const, and asked by one evaluation at a time. The object outlives the evaluation, and so does
/// what it gives but for what it makes in the arena.
class Device {
 public:
  virtual ~Device() = default;
  /// The name of the driver whose device it is.
  virtual std::string_view driver() const = 0;
  virtual bool allow_multiple_allocations() const = 0;
  /// What reading the path gives; nullopt: no such key.
  virtual std::optional<Value> read(const Path& path, Arena& arena) const = 0;
  /// What has() and the optional syntax see.
  virtual bool has(const Path& path, Arena& arena) const { return read(path, arena).has_value(); }
  /// Whether nobody can say what the path gives: then read() gives nullopt and the has() macro fails too.
  virtual bool is_unknown(const Path& path) const {
    (void)path;
    return false;
  }
  /// domain -> id -> value; for what cannot be resolved beforehand.
  virtual const Map* attributes(Arena& arena) const = 0;
  virtual const Map* capacity(Arena& arena) const = 0;
};

}  // namespace sliced::cel
