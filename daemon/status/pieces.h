#pragma once
// A page that takes time: its body is made piece by piece on workers, each when the client has taken the one before, so
// that neither the loop nor memory pays for its length.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/status/pages.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::status {

/// next makes the next piece, "" at the end. It is called on workers, one call at a time, so what it captures is its own
/// or immutable.
struct Pieces {
  std::string content_type;
  std::function<std::string()> next;
  http::Headers headers = {};  // beside those that every answer has
};

/// Where pieces are made.
struct Workshop {
  reactor::Executor& executor;
  reactor::Scheduler& scheduler;
};

/// make, on the loop: the pieces, or an answer that is known at once.
/// at_once_max: so many are answered at a time, others are told to come again (503, Retry-After).
/// Failure: a piece that takes longer than 5 s, or a client that has not taken all of it within a minute, cuts the answer, so
/// that nobody takes it for whole.
/// Threads: make and all else on the loop, next on workers. What a worker has begun it ends, also when nobody
///          waits any more: it may outlive the call.
/// Ownership: the workshop outlives the page and its calls.
LongPage in_pieces(Workshop workshop, size_t at_once_max,
                   std::function<std::variant<Answer, Pieces>(std::string_view query)> make);

}  // namespace sliced::status
