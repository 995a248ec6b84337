#pragma once
// Inside kube/client/api_cluster.cpp: one call to the API server, from credentials to the end of the response.
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "kube/client/api_ports.h"
#include "kube/client/api_request.h"
#include "kube/objects/cluster.h"

namespace sliced::kube {

/// What all operations of a cluster share: one client with its connections, who we are, and what was counted.
/// Lives until the last operation is over, also where the cluster went before it. Loop thread only.
class ApiCore {
 public:
  explicit ApiCore(ApiPorts ports)
      : scheduler(ports.scheduler),
        log(ports.log),
        credentials(std::move(ports.credentials)),
        user_agent(std::move(ports.user_agent)),
        client(ports.scheduler, std::move(ports.dial), std::move(ports.random)) {}

  /// The same pointer as long as the access stays the same.
  /// Another Access makes another target, and so other connections. Errors: kInvalid, the certificates', with
  /// the place that they came from.
  /// The target before is let go; requests on their way keep it to their end.
  Result<http::TargetPtr> server_for(const Access& access);
  /// Of `Warning` headers (RFC 7234 section 5.5, warn-code 299), each text once.
  /// At most 256 texts are remembered, and so told; each is cut at 1 KiB.
  void log_warnings(const ApiRequest& request, const http::Head& head);

  /// Remembers the response's Date.
  void note_date(const http::Head& head);
  std::optional<int64_t> server_time() const;

  reactor::Scheduler& scheduler;
  Log& log;
  const std::unique_ptr<CredentialSource> credentials;
  const std::string user_agent;
  http::Client client;
  http::TargetPtr server;

 private:
  std::optional<Access> access_;
  std::optional<int64_t> date_;  // of the last response that has one, seconds since 1970
  TimePoint date_came_{};
  std::set<std::string> warned_;
};

/// Sends requests one after the other; subclasses make of the responses what the port promises.
/// Ownership: its Handle owns it; a callback that runs keeps it alive to its end.
/// Failure: http's errors, credentials that cannot be had, a coding that was not asked for, and every status
/// but 2xx. A status that came whole or half counts before a connection that broke behind it.
class ApiOperation : public std::enable_shared_from_this<ApiOperation> {
 public:
  explicit ApiOperation(std::shared_ptr<ApiCore> core) : core_(std::move(core)) {}
  virtual ~ApiOperation() = default;
  /// Asks for credentials, then sends. Also from within on_complete, for the next page.
  /// A request without repeatable is sent once, even where nobody knows whether it arrived.
  void send(ApiRequest request, http::Options options);
  /// Nobody listens any more: no handler is called from now on. What a write has done by then stands.
  void cancel();

 protected:
  /// A piece of the body of a 2xx response. A subclass that has enough calls end().
  /// Never after end(). Pieces are cut anywhere.
  virtual void on_content(std::string_view bytes) = 0;
  /// The response is whole. The subclass may send() the next page from here.
  virtual void on_complete() = 0;
  /// The head of a 2xx response has arrived.
  virtual void on_accepted() {}
  /// No 2xx, or none that is whole; the last call. A Status in the body is decoded already.
  virtual void on_failed(const Failure& failure) = 0;
  /// It goes on for long, and asks again where its connection is to be left (http::Handlers::on_moved).
  virtual bool is_lasting() const { return false; }
  virtual void on_moved() {}
  /// For a response from its head to its end, however steadily it drips; 0: it may go on for ever.
  /// Counted from the head on: what comes before it is bounded by http::Options.
  virtual Millis response_max() const { return Millis{0}; }

  /// Ends the operation; the subclass then calls the last handler.
  void end();
  /// end(), then on_failed().
  void fail(const Failure& failure);
  void fail_content(const Error& error);  // the response was no good
  bool ended() const { return ended_; }
  const ApiRequest& request() const { return request_; }
  ApiCore& core() { return *core_; }

 private:
  // Everything of an answer before is forgotten: it was a 401, or the page before.
  void ask_for_credentials();
  // Counts the request as sent, and sends it. The token is put into a copy: request_ is what is sent again
  // after a 401.
  void on_credentials(Result<Credentials> credentials);
  void on_head(const http::Head& head);
  void on_body(std::string_view bytes);
  void on_http_done();
  void on_http_failure(const Error& error);
  void on_http_moved();
  // True where the request is on its way again: after a 401, once in each send().
  bool reload_credentials(int status);
  // The server has said no. Half of its words, up to 64 KiB of them, are enough to tell which.
  void refuse();

  const std::shared_ptr<ApiCore> core_;
  ApiRequest request_;
  http::Options options_;
  Credentials used_;
  CallPtr asking_;
  http::ExchangePtr exchange_;
  http::Head head_;
  std::string refusal_;  // body of an error response
  reactor::Ticket response_late_;
  bool ended_ = false, reloaded_ = false;
};

/// What the caller of the port holds: dropping it cancels.
class ApiHandle final : public Call {
 public:
  explicit ApiHandle(std::shared_ptr<ApiOperation> operation) : operation_(std::move(operation)) {}
  ~ApiHandle() override { operation_->cancel(); }

 private:
  const std::shared_ptr<ApiOperation> operation_;
};

}  // namespace sliced::kube
