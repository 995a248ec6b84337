#pragma once
// An expression's view of a device: the variable `device` with its fields driver, allowMultipleAllocations,
// attributes[domain].id and capacity[domain].id.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/types.h"
#include "cel/value.h"

namespace sliced::cel {

/// device.attributes["domain"].id with constant parts: found once at compilation, and read for each device.
/// domain and id are as written in the expression.
struct Path {
  bool is_capacity = false;
  int known = -1;  // index of KnownAttributes, -1 without them
  size_t domain_size = 0;
  std::string key;  // "domain/id"; either part may contain more slashes

  std::string_view domain() const { return std::string_view(key).substr(0, domain_size); }
  std::string_view id() const { return std::string_view(key).substr(domain_size + 1); }
};

/// Known attributes with their types; any other is a mistake in the expression. Used during compilation only,
/// on the compiling thread; results must be constant.
class KnownAttributes {
 public:
  virtual ~KnownAttributes() = default;
  struct Attribute {
    int index;
    Kind kind;
  };
  /// domain: as written in the expression. nullopt: a mistake, which the compiler reports with the existing
  /// names.
  virtual std::optional<Attribute> find(std::string_view domain, std::string_view id) const = 0;
  /// For messages: the existing names.
  virtual std::vector<std::string_view> domains() const = 0;
  virtual std::vector<std::string_view> ids(std::string_view domain) const = 0;
};

/// One device during an evaluation. Texts and maps are valid during the evaluation. Threads: const, used by
/// one evaluation at a time. The object outlives the evaluation, and so do its results, except those in the
/// arena.
class Device {
 public:
  virtual ~Device() = default;
  /// The name of the device's driver.
  virtual std::string_view driver() const = 0;
  virtual bool allow_multiple_allocations() const = 0;
  /// Returns the value of the path; nullopt if there is no such key.
  virtual std::optional<Value> read(const Path& path, Arena& arena) const = 0;
  /// For has() and the optional syntax.
  virtual bool has(const Path& path, Arena& arena) const { return read(path, arena).has_value(); }
  /// Returns whether the value of the path is unknown: then read() returns nullopt and the has() macro fails
  /// too.
  virtual bool is_unknown(const Path& path) const {
    (void)path;
    return false;
  }
  /// domain -> id -> value; for paths that are not constant.
  virtual const Map* attributes(Arena& arena) const = 0;
  virtual const Map* capacity(Arena& arena) const = 0;
};

}  // namespace sliced::cel
