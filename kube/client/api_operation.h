#pragma once
// Internal to kube/client/api_cluster.cpp: one call to the API server, from credentials to the end of the
// response.
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

/// Shared by all operations of a cluster: HTTP client, credentials, counters. Lives until the last operation
/// ends, also if the cluster is destroyed before. Loop thread only.
class ApiCore {
 public:
  explicit ApiCore(ApiPorts ports)
      : scheduler(ports.scheduler),
        log(ports.log),
        credentials(std::move(ports.credentials)),
        user_agent(std::move(ports.user_agent)),
        schema_cache(std::move(ports.schema_cache)),
        client(ports.scheduler, std::move(ports.dial), std::move(ports.random)) {}

  /// Returns the HTTP target of an Access; a changed Access has a new target with new connections. Running
  /// requests keep the old one. Errors: kInvalid for certificates, with their source.
  Result<http::TargetPtr> server_for(const Access& access);
  /// Logs `Warning` headers (RFC 7234 section 5.5, warn-code 299), each text once; at most 256 texts of 1
  /// KiB.
  void log_warnings(const ApiRequest& request, const http::Head& head);

  /// Remembers the response's Date.
  void note_date(const http::Head& head);
  std::optional<int64_t> server_time() const;

  reactor::Scheduler& scheduler;
  Log& log;
  const std::unique_ptr<CredentialSource> credentials;
  const std::string user_agent;
  const std::optional<SchemaCache> schema_cache;
  http::Client client;
  http::TargetPtr server;

 private:
  std::optional<Access> access_;
  std::optional<int64_t> date_;  // of the last response that has one, seconds since 1970
  TimePoint date_received_at_{};
  std::set<std::string> warned_;
};

/// Sends requests one after the other; subclasses handle the responses. Owned by its Handle; a running
/// callback keeps it alive. Failures: HTTP errors, missing credentials, an unexpected coding, every status
/// except 2xx. A received status takes precedence over a connection that breaks after it.
class ApiOperation : public std::enable_shared_from_this<ApiOperation> {
 public:
  explicit ApiOperation(std::shared_ptr<ApiCore> core) : core_(std::move(core)) {}
  virtual ~ApiOperation() = default;
  /// Gets credentials, then sends; also from on_complete for the next page. A request that is not repeatable
  /// is sent at most once.
  void send(ApiRequest request, http::Options options);
  /// Cancels: no handler is called from now on. A write may have taken effect.
  void cancel();

 protected:
  /// A part of the body of a 2xx response, split anywhere; not after end().
  virtual void on_content(std::string_view bytes) = 0;
  /// The response is complete. May send() the next page.
  virtual void on_complete() = 0;
  /// The head of a 2xx response has arrived.
  virtual void on_accepted() {}
  /// Failure or incomplete response; the last call. A Status in the body is decoded.
  virtual void on_failed(const Failure& failure) = 0;
  /// A long request that is restarted when its connection is closing (http::Handlers::on_moved).
  virtual bool is_lasting() const { return false; }
  virtual void on_moved() {}
  /// Limit from the response's head to its end; 0: none. The time before the head is limited by
  /// http::Options.
  virtual Millis response_max() const { return Millis{0}; }

  /// Ends the operation; the subclass then calls the last handler.
  void end();
  /// end(), then on_failed().
  void fail(const Failure& failure);
  void fail_content(const Error& error);  // invalid response
  bool ended() const { return ended_; }
  const ApiRequest& request() const { return request_; }
  const http::Head& head() const { return head_; }  // of the last response
  ApiCore& core() { return *core_; }

 private:
  // Resets the state of the previous answer (a 401, or the previous page).
  void request_credentials();
  // Counts and sends a copy of request_ with the token; request_ is sent again after a 401.
  void on_credentials(Result<Credentials> credentials);
  void on_head(const http::Head& head);
  void on_body(std::string_view bytes);
  void on_http_done();
  void on_http_failure(const Error& error);
  void on_http_moved();
  // Returns true if the request was sent again after a 401, once per send().
  bool reload_credentials(int status);
  // Handles an error status; reads up to 64 KiB of the body, which may be incomplete.
  void refuse();

  const std::shared_ptr<ApiCore> core_;
  ApiRequest request_;
  http::Options options_;
  Credentials used_;
  CallPtr credentials_request_;
  http::ExchangePtr exchange_;
  http::Head head_;
  std::string refusal_;  // body of an error response
  reactor::Ticket response_late_;
  bool ended_ = false, reloaded_ = false;
};

/// The caller's handle; destroying it cancels.
class ApiHandle final : public Call {
 public:
  explicit ApiHandle(std::shared_ptr<ApiOperation> operation) : operation_(std::move(operation)) {}
  ~ApiHandle() override { operation_->cancel(); }

 private:
  const std::shared_ptr<ApiOperation> operation_;
};

}  // namespace sliced::kube
