#pragma once
// Log sinks: text, JSON lines, or the journal's native protocol.
//
// Foreign bytes: control bytes and invalid UTF-8 are escaped in every format, so that a value cannot
//                control a terminal, end a line or forge a field. A value or message is limited to 64 KiB.
// Blocking:      never. A thread writes to the stream (line_writer.h); writes to the journal's socket are
//                non-blocking. Lines without room are dropped and counted, and the count is logged when
//                writing works again.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "reactor/base/log.h"

namespace sliced {

enum class LogFormat { kAuto, kText, kJson, kJournald };

/// A log with a minimum level that may change at runtime (configuration reload).
class SinkLog : public Log {
 public:
  /// Applies to later lines. Loop thread only.
  void set_level(Level least) { least_ = least; }
  void line(Level level, std::string_view message, std::initializer_list<Field> fields) final {
    if (level >= least_) emit(level, message, fields);
  }
  /// Waits until all lines are written; returns false on timeout. The destructor also waits.
  virtual bool flush(std::chrono::milliseconds longest) = 0;
  /// Returns the number of dropped lines since the start.
  virtual uint64_t lost() const = 0;

 protected:
  explicit SinkLog(Level least) : least_(least) {}

 private:
  virtual void emit(Level level, std::string_view message, std::initializer_list<Field> fields) = 0;
  Level least_;
};

using WallClock = std::function<std::chrono::system_clock::time_point()>;

/// Environment of the process; replaced in tests.
struct LogTarget {
  int fd = 2;  // for text and JSON; not owned, must stay open as long as the log
  std::string journal_socket = "/run/systemd/journal/socket";
  std::string journal_stream;  // $JOURNAL_STREAM, "device:inode" of the journal's stream
  /// Also called on the writing thread.
  WallClock now = [] { return std::chrono::system_clock::now(); };
};
LogTarget process_log_target();

/// Never fails. kAuto selects kJournald if fd is the journal's stream, else kText. If the journal does not
/// listen, lines are written to fd as text.
std::unique_ptr<SinkLog> make_log(LogFormat format, Level least, LogTarget target);

/// "I1120 23:15:46.123 published slices=3 node="a b"": level letter, local time, message, fields; ends in a
/// newline.
std::string text_line(std::chrono::system_clock::time_point now, Level level, std::string_view message,
                      std::initializer_list<Field> fields);

/// {"ts":"2026-11-20T23:15:46.123Z","level":"info","msg":"published","slices":"3"} and a newline. All values
/// are strings; a field named as one of the three first members gets a '_' behind its name.
std::string json_line(std::chrono::system_clock::time_point now, Level level, std::string_view message,
                      std::initializer_list<Field> fields);

/// One entry of the journal's native protocol (systemd's JOURNAL_NATIVE_PROTOCOL): MESSAGE as people read it,
/// PRIORITY, SYSLOG_IDENTIFIER, and each field as SLICED_NAME.
std::string journal_entry(Level level, std::string_view message, std::initializer_list<Field> fields);

}  // namespace sliced
