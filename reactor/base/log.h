#pragma once
// The log: one line per decision that changed something, with the reason; nothing repeated while nothing
// changes.
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace sliced {

/// kError: the daemon cannot do its work. kWarning: an administrator may want to act. kInfo: something
/// changed. kDebug: for finding a cause.
enum class Level { kDebug, kInfo, kWarning, kError };

/// A named value of a log line; every sink escapes it. Numbers are decimal without unit: the unit is part of
/// the key (`took_ms`). The value is computed even if the level is not written.
struct Field {
  std::string_view key;  // lower_snake_case, stable: log lines are an interface
  std::string value;
  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const std::string& v) : key(k), value(v) {}
  Field(std::string_view k, const char* v) : key(k), value(v) {}
  Field(std::string_view k, int64_t v) : key(k), value(std::to_string(v)) {}
  Field(std::string_view k, int v) : key(k), value(std::to_string(v)) {}
  Field(std::string_view k, size_t v) : key(k), value(std::to_string(v)) {}
};

/// Receives log lines. Loop thread only. Passed to each user as a reference, so that tests can read the lines
/// (t/fake/memory_log.h). REQUIRES: outlives its users.
class Log {
 public:
  virtual ~Log() = default;
  /// message: a lower-case literal, the same for every occurrence; variable parts are in the fields. Never
  /// blocks or fails: a line that cannot be written is counted by the sink (log_sinks.h).
  virtual void line(Level level, std::string_view message, std::initializer_list<Field> fields) = 0;

  void debug(std::string_view message, std::initializer_list<Field> fields = {}) {
    line(Level::kDebug, message, fields);
  }
  void info(std::string_view message, std::initializer_list<Field> fields = {}) {
    line(Level::kInfo, message, fields);
  }
  void warning(std::string_view message, std::initializer_list<Field> fields = {}) {
    line(Level::kWarning, message, fields);
  }
  void error(std::string_view message, std::initializer_list<Field> fields = {}) {
    line(Level::kError, message, fields);
  }
};

}  // namespace sliced
