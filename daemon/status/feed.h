#pragma once
// Events for browsers as they happen (server-sent events, https://html.spec.whatwg.org/multipage/server-sent-events.html).
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "daemon/status/pages.h"
#include "kube/objects/json.h"
#include "reactor/scheduler.h"

namespace sliced::status {

/// Bounds:    clients_max at a time, others get a 503; who has more than kUnsentMax of what was said not read yet is cut, and
///            comes again by itself. What a browser missed it reads anew: nothing is kept for it.
/// Ownership: the scheduler outlives it; its calls may outlive it, and hear nothing more.
/// Reentry:   welcome is called with each client, and may not tell().
/// Threads:   the loop's.
class Feed {
 public:
  static constexpr size_t kUnsentMax = 256u << 10;
  static constexpr Millis kSilenceMax{15'000};  // then a comment is said, so that whoever is gone is noticed
  Feed(reactor::Scheduler& scheduler, size_t clients_max);
  ~Feed();
  Feed(const Feed&) = delete;

  /// welcome: events that each client hears first, as event_text() makes them.
  /// Browsers are told to come again 2 s after they are cut ("retry"); who gets the 503, after 10 s (Retry-After).
  LongPage page(std::function<std::string()> welcome);
  /// To everybody who listens: one event or several, as event_text() makes them. Who has not read enough is cut here.
  void tell(std::string_view events);
  size_t clients() const;

 private:
  class Client;
  struct Clients;
  const std::shared_ptr<Clients> clients_;
};

/// "event: NAME\ndata: JSON\n\n"; name: a literal.
std::string event_text(std::string_view name, const kube::Json& data);

}  // namespace sliced::status
