#pragma once
// One line per decision that changed something, with why; nothing repeated in an idle hour.
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace sliced {

/// kError: the daemon cannot do its work. kWarning: something is not as it should be, and somebody may want
/// to do something about it. kInfo: something changed. kDebug: what helps whoever looks for a reason.
enum class Level { kDebug, kInfo, kWarning, kError };

/// A named value of a log line. Foreign bytes need no care here: every sink escapes.
/// Made when the line is: whatever computes a value costs also where the level is not written. Numbers are
/// decimal, without units: the unit belongs into the key (`took_ms`).
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

/// Where lines go. Called on the loop's thread only.
/// An interface and no global: whoever logs was handed one, and a test reads what was said
/// (t/fake/memory_log.h). It outlives whoever holds a reference.
class Log {
 public:
  virtual ~Log() = default;
  /// message: a literal in lower case, the same for every occurrence; what varies is in the fields. Never
  /// blocks and never fails: a line that cannot be written is counted by the sink (log_sinks.h).
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
