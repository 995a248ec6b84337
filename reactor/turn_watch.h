#pragma once
// How long turns of the loop take, and what in them: everything else waits meanwhile. A turn is meant to take
// 10 ms at most; one above a tenth of a second is worth a line in the log.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <typeinfo>

#include "reactor/base/time.h"

struct uv_loop_s;

namespace sliced::reactor {

/// What is told of a turn that took too long.
/// Times are whole milliseconds, rounded down.
struct LongTurn {
  Millis took{0};    // from the first call to the last, without waiting
  Millis on_cpu{0};  // of that; less where the machine had no processor for us
  std::string what;  // the call that took longest: "task", "descriptor", "stream", ... and who asked for it
  Millis what_took{0};
  size_t unsaid = 0;  // long turns of the same call since it was told last
};

/// Is told when calls begin and end; asks the clocks that it is given. Loop thread only.
/// Memory: 64 texts of at most about 170 bytes.
class TurnWatch {
 public:
  static constexpr Millis kLong{100};
  static constexpr Millis kSilence{600'000};  // the same call is told once in this time
  /// Nanoseconds of a clock that only goes forward, and of the processor time of the thread that asks.
  struct Clocks {
    std::function<uint64_t()> monotonic_ns, cpu_ns;  // of this thread
  };
  explicit TurnWatch(Clocks clocks) : clocks_(std::move(clocks)) {}

  /// A call within a call is part of it. kind: a literal.
  /// who: has to last until the turn's end; type_info objects last for ever.
  void begin(const char* kind, const std::type_info& who);
  /// Of the call begun last.
  void end();
  /// At the end of each turn: what there is to tell of it.
  /// nullopt for a turn below kLong and for one that was told less than kSilence ago (it is counted,
  /// LongTurn::unsaid). At most 64 different calls are remembered; with more of them the memory begins anew.
  std::optional<LongTurn> end_turn();
  /// Turns that reached kLong since the start, told or not.
  uint64_t long_turns() const { return long_turns_; }

 private:
  struct Call {
    const char* kind = "";
    const std::type_info* who = nullptr;
    uint64_t ns = 0;
  };
  struct Told {
    uint64_t at_ns = 0;
    size_t unsaid = 0;
  };
  const Clocks clocks_;
  int depth_ = 0;
  // Of the outermost call that runs, and of the longest one of this turn.
  Call running_, longest_;
  uint64_t began_ns_ = 0, busy_ns_ = 0, cpu_before_ns_ = 0, long_turns_ = 0;
  std::map<std::string, Told> told_;  // by what
};

/// One call of the loop into others' code.
/// Whoever wraps a C callback of libuv makes one in its first line; without one the call's time is nobody's,
/// and a long turn would name another.
class TurnSpan {
 public:
  /// who: std::function::target_type() of what is called.
  /// kind: a literal. A loop without a watch (it is going down) is no error: nothing is measured.
  TurnSpan(uv_loop_s* loop, const char* kind, const std::type_info& who);
  ~TurnSpan();
  TurnSpan(const TurnSpan&) = delete;
  TurnSpan& operator=(const TurnSpan&) = delete;

 private:
  TurnWatch* watch_;
};

}  // namespace sliced::reactor
