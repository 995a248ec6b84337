#pragma once
// A long page whose body is built in pieces on workers, each after the client has read the one before. So its
// length costs neither time of the loop nor memory.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/status/pages.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::status {

/// next: returns the next piece, "" at the end. Called on workers, one call at a time, so its captures are
/// its own or immutable.
struct Fragments {
  std::string content_type;
  std::function<std::string()> next;
  http::Headers headers = {};  // in addition to the common ones
};

/// Where pieces are built.
struct FragmentBuilder {
  reactor::Executor& executor;
  reactor::Scheduler& scheduler;
};

/// make: returns the pieces, or an immediate answer; called on the loop.
/// at_once_max: concurrent answers; others get 503 with Retry-After.
/// Failure: a piece that takes longer than 5 s, or a client that has not read everything within a minute,
/// aborts the connection, so that the answer is not taken for complete.
/// Threads: make and everything else on the loop, next on workers. A worker completes its piece even without
/// a client, and may outlive the call.
/// Ownership: the builder outlives the page and its calls.
LongPage in_fragments(FragmentBuilder builder, size_t at_once_max,
                      std::function<std::variant<Answer, Fragments>(std::string_view query)> make);

}  // namespace sliced::status
