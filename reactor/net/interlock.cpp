#include "reactor/net/interlock.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "reactor/base/text.h"
#include "reactor/loop.h"
#include "reactor/net/unix_socket.h"
#include "reactor/poll.h"

namespace sliced::reactor::net {
namespace {

constexpr Millis kRetry{5'000};        // after an error of the system
constexpr Millis kSoon{100};           // the holder is just starting or ending
constexpr Millis kCrowded{1'000};      // too many wait, or have waited: the dead stay in the backlog
constexpr int kWaitersMax = 128;       // connections that stay in the listener's backlog
constexpr size_t kNameBytesMax = 107;  // without the leading NUL

}  // namespace

std::string interlock_name(const std::string& driver, const std::string& node) {
  const std::string name = "sliced/" + driver + "/" + node;
  if (name.size() <= kNameBytesMax) return name;
  const std::string hash = "-" + hex(stable_hash(name), 16);
  return name.substr(0, kNameBytesMax - hash.size()) + hash;
}

struct Interlock::State {
  State(Loop& on, Log& to, std::string what, std::function<void()> then)
      : loop(on), log(to), name(std::move(what)), on_acquired(std::move(then)) {
    retry(Millis{0});
  }

  // Binding decides: only one process can have the name.
  void attempt() {
    const auto address = unix_address(std::string(1, '\0') + name);
    socket = unix_socket();
    if (!address || !socket) return trouble(address ? std::strerror(errno) : address.error().what);
    const auto* raw = reinterpret_cast<const sockaddr*>(&address->raw);
    if (::bind(socket.get(), raw, address->size) == 0) {
      if (::listen(socket.get(), kWaitersMax) != 0) return trouble(std::strerror(errno));
      return acquire();
    }
    if (errno != EADDRINUSE) return trouble(std::strerror(errno));
    socket = unix_socket();
    if (!socket) return trouble(std::strerror(errno));
    if (::connect(socket.get(), raw, address->size) == 0) return wait_for_end();
    // ECONNREFUSED: between its bind and its listen, or gone since. EAGAIN: the backlog is full.
    retry(errno == EAGAIN ? kCrowded : kSoon);
  }

  // The holder never accepts; when its socket goes, so do the connections in the backlog.
  void wait_for_end() {
    ucred holder{};
    socklen_t size = sizeof holder;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &holder, &size) != 0)
      return trouble(std::strerror(errno));
    auto opened = Poll::open(loop, socket.get(), [this](Poll::Ready) {
      poll.reset();
      // A stranger may answer each connection with a byte: not to be followed at its pace.
      foreign ? retry(kSoon) : attempt();
    });
    if (!opened) return trouble(opened.error().what);
    poll = std::move(opened).value();
    poll->interest(true, false);
    announce(holder);
  }

  void announce(const ucred& holder) {
    foreign = holder.uid != geteuid();
    if (holder.pid == announced) return;
    announced = holder.pid;
    if (foreign) {
      log.warning("another user's process holds the interlock; ignoring it",
                  {{"name", name}, {"pid", int64_t{holder.pid}}, {"uid", int64_t{holder.uid}}});
      acquire();  // last statement
    } else {
      log.info("another instance is active for this driver and node; waiting until it ends",
               {{"name", name}, {"pid", int64_t{holder.pid}}});
    }
  }

  void acquire() {
    acquired = true;
    const auto call = std::exchange(on_acquired, nullptr);
    if (call) call();  // last statement: the Interlock may be gone
  }

  void trouble(const std::string& why) {
    if (why != last_trouble)
      log.warning("cannot take the interlock; trying again", {{"name", name}, {"why", why}});
    last_trouble = why;
    retry(kRetry);
  }

  void retry(Millis delay) {
    socket = {};
    ticket = loop.scheduler().after(delay, [this] { attempt(); });
  }

  Loop& loop;
  Log& log;
  const std::string name;
  std::function<void()> on_acquired;
  Descriptor socket;           // bound and listening, or connected to the holder
  std::unique_ptr<Poll> poll;  // goes before the socket
  Ticket ticket;
  pid_t announced = 0;
  std::string last_trouble;
  bool foreign = false;  // the present holder
  bool acquired = false;
};

Interlock::Interlock(Loop& loop, Log& log, std::string name, std::function<void()> on_acquired)
    : state_(std::make_unique<State>(loop, log, std::move(name), std::move(on_acquired))) {}
Interlock::~Interlock() = default;

bool Interlock::acquired() const { return state_->acquired; }

}  // namespace sliced::reactor::net
