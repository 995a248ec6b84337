#pragma once
// Where log lines go: text for people, JSON lines for collectors, or the journal in its native protocol.
//
// Foreign bytes: control bytes and invalid UTF-8 are escaped in every format, so that no value can steer a
//                terminal, end a line or forge a field. A value or message is cut at 64 KiB.
// Blocking:      nobody is waited for. A thread writes to the stream (line_writer.h); the journal's socket is
//                asked only for what it takes at once. Lines that have no room are counted, and the count is
//                told when writing works again.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "reactor/base/log.h"

namespace sliced {

/// kAuto decides once, when the log is made: standard error that is moved later keeps its format.
enum class LogFormat { kAuto, kText, kJson, kJournald };

/// A log with a least level that can change while it is used (a reload of the configuration).
class SinkLog : public Log {
 public:
  /// From the next line on; what waits to be written stays. Loop thread, as line().
  void set_level(Level least) { least_ = least; }
  void line(Level level, std::string_view message, std::initializer_list<Field> fields) final {
    if (level >= least_) emit(level, message, fields);
  }
  /// Waits until the lines are written; false when they were not in time. The destructor does so, too.
  virtual bool flush(std::chrono::milliseconds longest) = 0;
  /// Lines that found no room, or that nothing took, since the start.
  virtual uint64_t lost() const = 0;

 protected:
  explicit SinkLog(Level least) : least_(least) {}

 private:
  virtual void emit(Level level, std::string_view message, std::initializer_list<Field> fields) = 0;
  Level least_;
};

using WallClock = std::function<std::chrono::system_clock::time_point()>;

/// The process's surroundings; tests bring their own.
struct LogTarget {
  int fd = 2;  // where text and JSON go; not owned, and open as long as the log
  std::string journal_socket = "/run/systemd/journal/socket";
  std::string journal_stream;  // $JOURNAL_STREAM, "device:inode" of the journal's stream
  /// Called by the thread that writes, too.
  WallClock now = [] { return std::chrono::system_clock::now(); };
};
LogTarget process_log_target();

/// Never fails. kAuto is kJournald where fd is the journal's own stream, else kText. A line that cannot be
/// given to the journal because nobody listens there is written to fd as text.
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
