#include "kube/client/api_operation.h"

#include <utility>

#include "kube/client/api_status.h"
#include "reactor/base/text.h"

namespace sliced::kube {
namespace {

constexpr size_t kRefusalBytesMax = 64u << 10;
constexpr size_t kWarningsMax = 256;

bool is_success(const http::Head& head) { return head.status >= 200 && head.status < 300; }

}  // namespace

Result<http::TargetPtr> ApiCore::server_for(const Access& access) {
  if (server && access_ == access) return server;
  auto made = std::make_shared<http::Target>();
  made->url = access.server;
  made->tls_server_name = access.tls_server_name;
  made->proxy = access.proxy;
  if (access.server.tls) {
    auto tls = reactor::net::TlsContext::make(
        {.ca_pem = access.ca_pem,
         .system_ca = access.ca_pem.empty() && !access.insecure_skip_tls_verify,
         .client_cert_pem = access.client_certificate_pem,
         .client_key_pem = access.client_key_pem,
         .insecure_skip_verify = access.insecure_skip_tls_verify,
         .alpn = {"h2", "http/1.1"}});
    if (!tls) return std::move(tls.error()).in("certificates from " + credentials->describe());
    made->tls = *std::move(tls);
  }
  access_ = access;
  server = std::move(made);
  return server;
}

void ApiCore::note_date(const http::Head& head) {
  const std::string* text = head.header("date");
  const auto date = text == nullptr ? std::nullopt : http::decode_http_date(*text);
  if (!date) return;
  date_ = date;
  date_received_at_ = scheduler.now();
}

std::optional<int64_t> ApiCore::server_time() const {
  if (!date_) return std::nullopt;
  return *date_ +
         std::chrono::duration_cast<std::chrono::seconds>(scheduler.now() - date_received_at_).count();
}

void ApiCore::log_warnings(const ApiRequest& request, const http::Head& head) {
  for (std::string& text : http::decode_warnings(head)) {
    if (warned_.size() >= kWarningsMax || !warned_.insert(escaped(text, 1024)).second) continue;
    log.warning("warning of the API server", {{"request", request.action}, {"warning", text}});
  }
}

void ApiOperation::send(ApiRequest request, http::Options options) {
  request_ = std::move(request);
  request_.message.headers.push_back({"User-Agent", core_->user_agent});
  options_ = options;
  options_.repeatable = request_.repeatable;
  reloaded_ = false;
  request_credentials();
}

void ApiOperation::cancel() { end(); }

void ApiOperation::end() {
  ended_ = true;
  credentials_request_.reset();
  exchange_.reset();
  response_late_.reset();
}

void ApiOperation::fail(const Failure& failure) {
  end();
  on_failed(failure);
}

void ApiOperation::fail_content(const Error& error) {
  fail(no_response(request_.action, {error.code, "the server's response is invalid: " + error.what}));
}

void ApiOperation::request_credentials() {
  head_ = {};
  refusal_.clear();
  exchange_.reset();
  response_late_.reset();
  credentials_request_ = core_->credentials->get(
      [this](Result<Credentials> credentials) { on_credentials(std::move(credentials)); });
}

void ApiOperation::on_credentials(Result<Credentials> credentials) {
  const auto self = shared_from_this();
  const auto over = std::move(credentials_request_);
  if (!credentials)
    return fail(no_response(request_.action, std::move(credentials.error()).in("credentials")));
  auto server = core_->server_for(credentials->access);
  if (!server) return fail(no_response(request_.action, server.error()));
  used_ = *std::move(credentials);
  http::Request message = request_.message;
  if (!used_.token.empty()) message.headers.push_back({"Authorization", "Bearer " + used_.token});
  http::Handlers handlers{.on_head = [this](const http::Head& head) { on_head(head); },
                          .on_body = [this](std::string_view bytes) { on_body(bytes); },
                          .on_done = [this] { on_http_done(); },
                          .on_failure = [this](const Error& error) { on_http_failure(error); }};
  if (is_lasting()) handlers.on_moved = [this] { on_http_moved(); };
  exchange_ = core_->client.start(*std::move(server), std::move(message), options_, std::move(handlers));
}

void ApiOperation::on_head(const http::Head& head) {
  const auto self = shared_from_this();
  head_ = head;
  if (const Millis limit = response_max(); limit > Millis{0})
    response_late_ = core_->scheduler.after(limit, [this, limit] {
      const auto self = shared_from_this();
      on_http_failure(
          {Errc::kTimeout, "no end of the response within " + std::to_string(limit.count() / 1'000) + " s"});
    });
  core_->note_date(head);
  core_->log_warnings(request_, head);
  if (reload_credentials(head.status)) return;
  const std::string* coding = head.header("content-encoding");
  if (is_success(head) && coding != nullptr && *coding != "identity")
    return fail_content({Errc::kIo, "Content-Encoding " + in_quotes(*coding) + ", which was not asked for"});
  if (is_success(head)) on_accepted();
}

// The token may have been rotated since it was read. Repeated once.
bool ApiOperation::reload_credentials(int status) {
  if (status != 401 || std::exchange(reloaded_, true)) return false;
  core_->credentials->invalidate(used_);
  request_credentials();
  return true;
}

void ApiOperation::on_body(std::string_view bytes) {
  const auto self = shared_from_this();
  if (is_success(head_)) return on_content(bytes);
  refusal_ += bytes.substr(0, kRefusalBytesMax - refusal_.size());
  if (refusal_.size() >= kRefusalBytesMax) refuse();
}

void ApiOperation::on_http_done() {
  const auto self = shared_from_this();
  if (!is_success(head_)) return refuse();
  on_complete();
}

void ApiOperation::on_http_failure(const Error& error) {
  const auto self = shared_from_this();
  if (head_.status != 0 && !is_success(head_)) return refuse();  // a truncated refusal still is a refusal
  fail(no_response(request_.action, error));
}

void ApiOperation::on_http_moved() {
  const auto self = shared_from_this();
  on_moved();
}

void ApiOperation::refuse() {
  Failure failure = decode_refusal(request_.action, head_, refusal_);
  if (head_.status == 401)
    failure.what += " (with credentials from " + core_->credentials->describe() + ", loaded twice)";
  fail(failure);
}

}  // namespace sliced::kube
