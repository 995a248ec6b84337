#pragma once
// Private to http/server.cpp: one client: its handshake, version, bytes and time limits. Data that the client
// does not read is not produced: above 64 KiB of unsent data nothing more is encoded (handlers get no
// on_room()) and nothing more is read. The client has stall_max for each KiB. Units: bytes, and Millis of the
// scheduler's clock. Ownership: the server's list owns it; on_closed is its last call, and drops it. It holds
// itself during calls. Reentry: handlers may end the connection, also from within send and finish.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/server_session.h"
#include "reactor/net/stream.h"
#include "reactor/net/tls_context.h"
#include "reactor/scheduler.h"

namespace sliced::http {

constexpr Millis kCheckEvery{1'000};        // while the server waits for the client
constexpr Millis kClientPingAfter{30'000};  // of silence, if the version has PING
constexpr Millis kClientPingAnswerMax{15'000};
// After the last sent byte: an immediate close could reset the connection and lose it. Limits without a
// received byte, and in total.
constexpr Millis kLingerSilentMax{2'000};
constexpr Millis kLingerMax{10'000};

class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  struct Shared {  // shared by all connections of a server; outlives them
    reactor::Scheduler& scheduler;
    const Serve serve;
    const ServerBounds bounds;
    std::function<int64_t()> clock;                                           // optional
    std::function<void(const reactor::net::Peer&, const Error&)> on_trouble;  // optional
    std::function<void(ServerConnection&)> on_closed;                         // last call; drops it
  };
  ServerConnection(std::shared_ptr<const Shared> shared, reactor::net::Peer peer);
  ~ServerConnection();

  /// Called once: with a plain stream, or one on which TLS is negotiated first, within handshake_max.
  void begin(std::unique_ptr<reactor::net::ByteStream> wire);
  void begin_tls(std::unique_ptr<reactor::net::ByteStream> plain,
                 std::shared_ptr<const reactor::net::TlsContext> tls);
  /// Ends with its last request.
  void drain();
  /// Immediately: calls in progress get on_loss().
  void cut(const Error& why);
  /// Reports the error, and closes.
  void fail(const Error& why);
  size_t calls() const { return session_ ? session_->calls() : 0; }
  /// Returns whether the client must act: no complete request is here, the answer is unread, or the client
  /// may have disconnected.
  bool awaits_client() const;
  TimePoint last_heard() const { return last_heard_; }

 private:
  // Starts all timers of a connection: at the beginning, and again after its handshake, which has its own
  // limit.
  void start_timers(TimePoint now);
  void on_data(std::string_view bytes);
  // Returns false if there are too few bytes to distinguish HTTP/2's preface from a request line. HTTP/1.1 is
  // recognized at the first byte that differs from the preface.
  bool choose_version(std::string_view bytes);
  void start_session(bool is_http2);
  void on_wire_end();
  // Schedules run_pending() in a later turn of the loop, once for any number of calls.
  void wake();
  void run_pending();
  // Sends data of the session while the wire has room, closes if the session is over, and starts or stops
  // reading. Called after every call of the session.
  void flush();
  // Closes the sending side; received data is discarded until linger_deadline().
  void close();
  // Removes it from the server's list; the caller holds it until it returns.
  void remove();
  void report(const Error& error);
  // One timer, for the next time limit. Received bytes only change time stamps.
  void arm();
  TimePoint next_deadline() const;
  void on_clock();
  // The kernel accepted less than kProgressBytes of the waiting data within stall_max.
  bool is_stalled(TimePoint now);
  // Sends a PING first, if the version has one.
  bool is_unresponsive(TimePoint now);
  TimePoint linger_deadline() const;

  const std::shared_ptr<const Shared> shared_;
  std::shared_ptr<const reactor::net::Peer> peer_;
  std::unique_ptr<reactor::net::Connecting> handshake_;
  std::unique_ptr<reactor::net::ByteStream> wire_;
  std::unique_ptr<ServerSession> session_;
  std::string prefix_;  // too few bytes to determine the version
  reactor::Ticket clock_, soon_;
  TimePoint checks_at_ = TimePoint::max();
  TimePoint started_at_, last_heard_, idle_since_, moved_at_, closed_at_{};
  uint64_t written_ = 0, moved_ = 0;  // bytes given to the wire; accepted by the kernel at moved_at_
  bool is_input_closed_ = false, is_deaf_ = false, is_closing_ = false, has_pinged_ = false,
       is_draining_ = false, is_closed_ = false;
};

}  // namespace sliced::http
