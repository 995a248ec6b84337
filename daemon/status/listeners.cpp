#include "daemon/status/listeners.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "reactor/base/text.h"
#include "reactor/durable_file.h"
#include "reactor/loop.h"

namespace sliced::status {
namespace {

constexpr Millis kTryAgain{2'000}, kLookAgain{10'000};
constexpr size_t kFilesMax = 4'096;  // per directory
constexpr std::string_view kStem = "status", kEnd = ".sock";

http::ServerOptions server_options(const StatusListenerDeps& ports, const http::ServerBounds& bounds) {
  return {.bounds = bounds,
          .clock = ports.clock,
          .on_trouble = [&log = ports.log](const reactor::net::Peer& who, const Error& why) {
            log.debug("status connection failed", {{"client", who.name}, {"why", why.what}});
          }};
}

}  // namespace

std::vector<std::string> socket_names(const std::string& pod_uid) {
  const std::string stem(kStem), end(kEnd);
  if (!pod_uid.empty()) return {stem + "-" + pod_uid + end};
  std::vector<std::string> out = {stem + end};
  for (size_t i = 2; i <= kSocketsMax; ++i) out.push_back(stem + "-" + std::to_string(i) + end);
  return out;
}

bool is_socket_name(std::string_view name) {
  return name == std::string(kStem) + std::string(kEnd) ||
         (name.starts_with(std::string(kStem) + "-") && name.ends_with(kEnd));
}

StatusListeners::StatusListeners(StatusListenerDeps ports, Places places, http::Serve serve,
                                 const http::ServerBounds& bounds)
    : ports_(std::move(ports)),
      places_(std::move(places)),
      names_(socket_names(places_.pod_uid)),
      server_(ports_.loop.scheduler(), std::move(serve), server_options(ports_, bounds)) {
  tend();
}

std::string StatusListeners::socket() const { return local_ ? places_.directory + "/" + names_[name_] : ""; }

void StatusListeners::tend() {
  const bool has_socket = !places_.directory.empty();
  if (has_socket) tend_socket();
  if (places_.address && !tcp_) tend_address();
  const bool is_all_well = (!has_socket || (local_ && name_ == 0)) && (tcp_ || !places_.address);
  next_ = ports_.loop.scheduler().after(is_all_well ? kLookAgain : kTryAgain, [this] { tend(); });
}

void StatusListeners::tend_socket() {
  if (local_ && !is_found()) local_.reset();
  if (!local_) remove_silent_others();
  // With an open socket only the first name is tried.
  const size_t names = local_ ? std::min<size_t>(name_, 1) : names_.size();
  for (size_t name = 0; name < names; ++name)
    if (open_socket(name)) break;
  if (!local_ && socket_log_.is_new(problem_))
    ports_.log.warning("status socket not created", {{"why", problem_}});
}

// False while another daemon has the name, or it cannot be opened.
bool StatusListeners::open_socket(size_t name) {
  auto opened =
      reactor::net::listen_unix(ports_.loop, places_.directory + "/" + names_[name],
                                {.connections_max = kLocalConnectionsMax,
                                 .users = {0, ::geteuid()},
                                 .on_refused = [this](const reactor::net::Peer& peer) { on_refused(peer); },
                                 .make_room = [this] { return server_.make_room(); }},
                                accept_handler());
  if (!opened) {
    problem_ = opened.error().what;
    return false;
  }
  local_ = std::move(*opened);
  name_ = name;
  socket_log_.forget();
  return true;
}

void StatusListeners::tend_address() {
  auto opened = reactor::net::listen_tcp(
      ports_.loop, *places_.address,
      {.connections_max = kTcpConnectionsMax, .make_room = [this] { return server_.make_room(); }},
      accept_handler());
  if (!opened) {
    if (address_log_.is_new(opened.error().what))
      ports_.log.warning("status not served at --health-address: will retry", {{"why", opened.error().what}});
    return;
  }
  tcp_ = std::move(*opened);
  address_log_.forget();
}

bool StatusListeners::is_found() const {
  struct stat found{};
  return ::lstat(socket().c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

// Left by pods that were killed; no other pod uses their names.
void StatusListeners::remove_silent_others() const {
  const auto names = reactor::list_names(places_.directory, kFilesMax, is_socket_name);
  if (!names) return;
  for (const std::string& name : *names)
    (void)reactor::net::remove_unanswered(places_.directory + "/" + name);
}

reactor::net::OnAccept StatusListeners::accept_handler() {
  return [this](std::unique_ptr<reactor::net::ByteStream> stream, reactor::net::Peer peer) {
    server_.take(std::move(stream), std::move(peer));
  };
}

void StatusListeners::on_refused(const reactor::net::Peer& peer) {
  const std::string who = peer.credentials ? "uid " + std::to_string(peer.credentials->uid) : "unknown";
  if (refused_log_.is_new(who))
    ports_.log.warning("connection rejected: only root and the user of this process may read the status",
                       {{"socket", socket()}, {"client", peer.name}});
}

}  // namespace sliced::status
