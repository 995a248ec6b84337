#pragma once
// Inside http/server.cpp: one client: its handshake, which version it speaks, its bytes both ways, its time.
//
// What a client does not take is not made: above 64 KiB that the kernel does not take, nothing more is
// encoded (so that handlers hear no on_room()) and nothing more is read. It is given stall_max for each KiB.
//
// Units:     bytes, and Millis of the scheduler's clock.
// Ownership: the server's list owns it; on_over is its last word, and drops it. It holds itself while it calls.
// Reentry:   handlers of calls may end the connection, also from within send and finish.
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

constexpr Millis kCheckEvery{1'000};        // while the client owes something
constexpr Millis kClientPingAfter{30'000};  // of silence, where the version has PING
constexpr Millis kClientPingAnswerMax{15'000};
// After our last byte: a reset would lose it on its way. So long without a byte, and at most so long.
constexpr Millis kLingerSilentMax{2'000};
constexpr Millis kLingerMax{10'000};

class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  struct Shared {  // by all connections of a server; outlives them
    reactor::Scheduler& scheduler;
    const Serve serve;
    const ServerBounds bounds;
    std::function<int64_t()> clock;                                           // optional
    std::function<void(const reactor::net::Peer&, const Error&)> on_trouble;  // optional
    std::function<void(ServerConnection&)> on_over;                           // last word; drops it
  };
  ServerConnection(std::shared_ptr<const Shared> shared, reactor::net::Peer peer);
  ~ServerConnection();

  /// Once: a plain stream, or one on which TLS is negotiated first, within handshake_max.
  void begin(std::unique_ptr<reactor::net::ByteStream> wire);
  void begin_tls(std::unique_ptr<reactor::net::ByteStream> plain,
                 std::shared_ptr<const reactor::net::TlsContext> tls);
  /// Ends with its last request.
  void drain();
  /// At once: calls under way hear on_loss().
  void cut(const Error& why);
  /// It has failed: said, and cut.
  void fail(const Error& why);
  size_t calls() const { return session_ ? session_->calls() : 0; }
  /// It is not for us to go on: no request is here, or part of one, its answer is not taken, or nobody may wait for it.
  bool waits_for_client() const;
  TimePoint last_heard() const { return last_heard_; }

 private:
  // All clocks of a connection begin: once it is here, and again behind its handshake, which has a bound of
  // its own.
  void begun_at(TimePoint now);
  void on_data(std::string_view bytes);
  // False: too few to tell HTTP/2's preface from a request line. HTTP/1.1 shows itself at the first byte that
  // is not the preface's.
  bool choose_version(std::string_view bytes);
  void start_session(bool is_http2);
  void on_wire_end();
  // turn() in a later turn of the loop, once however often it is asked for: handlers call this from anywhere.
  void wake();
  void turn();
  // Takes from the session what the wire has room for, closes where the session is over, and reads or does
  // not. The end of everything that has called the session.
  void flush();
  // Says the end; what the client still sends is read and not looked at, until lingers_until().
  void close();
  // Nothing more of it: the list lets go, and whoever called holds it until he returns.
  void die();
  void complain(const Error& error);
  // One timer, for the next time at which something could be too late; bytes that come only move time stamps.
  void arm();
  TimePoint next_look() const;
  void on_clock();
  // The kernel took less than kProgressBytes of what waits within stall_max.
  bool is_stalled(TimePoint now);
  // Sends the PING that asks, where the version has one.
  bool is_dead(TimePoint now);
  TimePoint lingers_until() const;

  const std::shared_ptr<const Shared> shared_;
  std::shared_ptr<const reactor::net::Peer> peer_;
  std::unique_ptr<reactor::net::Connecting> handshake_;
  std::unique_ptr<reactor::net::ByteStream> wire_;
  std::unique_ptr<ServerSession> session_;
  std::string prefix_;  // too little to tell the version by
  reactor::Ticket clock_, soon_;
  TimePoint looks_at_ = TimePoint::max();
  TimePoint began_, last_heard_, idle_since_, moved_at_, closed_at_{};
  uint64_t written_ = 0, moved_ = 0;  // bytes given to the wire; taken by the kernel at moved_at_
  bool has_input_ended_ = false, is_deaf_ = false, is_closing_ = false, has_pinged_ = false,
       is_draining_ = false, is_over_ = false;
};

}  // namespace sliced::http
