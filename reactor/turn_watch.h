#pragma once
// Measures turns of the loop and the calls in them. A turn should take at most 10 ms; one above 100 ms is
// logged.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <typeinfo>

#include "reactor/base/time.h"

struct uv_loop_s;

namespace sliced::reactor {

/// A long turn. Times are whole milliseconds, rounded down.
struct LongTurn {
  Millis took{0};    // from the first call to the last, without waiting
  Millis on_cpu{0};  // CPU time; less than `took` if the thread had no CPU
  std::string what;  // the longest call: "task", "descriptor", "stream", ... and its target
  Millis what_took{0};
  size_t unreported = 0;  // long turns of the same call since the last report
};

/// Receives start and end of calls. Loop thread only. Memory: 64 texts of at most about 170 bytes.
class TurnWatch {
 public:
  static constexpr Millis kLong{100};
  static constexpr Millis kSilence{600'000};  // a call is reported once in this time
  /// Nanoseconds of a monotonic clock, and of the CPU time of the calling thread.
  struct Clocks {
    std::function<uint64_t()> monotonic_ns, cpu_ns;  // of this thread
  };
  explicit TurnWatch(Clocks clocks) : clocks_(std::move(clocks)) {}

  /// A nested call is part of the outer one. kind: a literal. type: must be valid until the end of the turn;
  /// type_info objects always are.
  void begin(const char* kind, const std::type_info& type);
  /// Ends the last begun call.
  void end();
  /// Ends the turn. Returns the report; nullopt for a turn below kLong, or for a call that was reported less
  /// than kSilence ago (counted in LongTurn::unreported). At most 64 different calls are stored; a further
  /// one clears the memory.
  std::optional<LongTurn> end_turn();
  /// Returns the number of turns of at least kLong since the start.
  uint64_t long_turns() const { return long_turns_; }

 private:
  struct Call {
    const char* kind = "";
    const std::type_info* type = nullptr;
    uint64_t ns = 0;
  };
  struct Reported {
    uint64_t at_ns = 0;
    size_t unreported = 0;
  };
  const Clocks clocks_;
  int depth_ = 0;
  // The running outermost call, and the longest one of this turn.
  Call running_, longest_;
  uint64_t began_ns_ = 0, busy_ns_ = 0, cpu_before_ns_ = 0, long_turns_ = 0;
  std::map<std::string, Reported> reported_;  // by LongTurn::what
};

/// Measures one call of a callback. Each C callback for libuv creates one in its first line; otherwise a long
/// turn would name another call.
class TurnSpan {
 public:
  /// type: std::function::target_type() of the callback. kind: a literal. Measures nothing if the loop has no
  /// watch (at its end).
  TurnSpan(uv_loop_s* loop, const char* kind, const std::type_info& type);
  ~TurnSpan();
  TurnSpan(const TurnSpan&) = delete;
  TurnSpan& operator=(const TurnSpan&) = delete;

 private:
  TurnWatch* watch_;
};

}  // namespace sliced::reactor
