#include "cli/status_sockets.h"

#include <algorithm>
#include <optional>
#include <set>

#include "daemon/node_locks.h"
#include "daemon/process.h"
#include "daemon/status/listeners.h"
#include "http/client.h"
#include "reactor/durable_file.h"
#include "reactor/net/unix_stream.h"

namespace sliced::cli {
namespace {

constexpr Millis kPageAnswerMax{5'000};
constexpr size_t kSocketFilesMax = 4'096, kPageBytesMax = 256u << 20;

void look_in(const std::string& directory, const std::string& pod_uid, FoundSockets& found) {
  found.looked_in.push_back(directory);
  const auto own = status::socket_names(pod_uid);
  // The locks of other nodes' daemons and other files do not count.
  const auto names = reactor::list_names(directory, kSocketFilesMax, [&](std::string_view name) {
    return pod_uid.empty() ? status::is_socket_name(name) : name == own[0];
  });
  if (!names) {
    found.denied = names.error().what;
    return;
  }
  for (const std::string& name : *names) found.sockets.push_back(directory + "/" + name);
}

}  // namespace

FoundSockets find_sockets(const config::Options& options) {
  FoundSockets found;
  std::set<std::string> directories = {daemon::kSystemDirectory};
  if (!options.runtime_directory.empty()) directories = {options.runtime_directory};
  if (const std::string own = daemon::runtime_directory(options); !own.empty()) directories.insert(own);
  for (const std::string& directory : directories) look_in(directory, options.pod_uid, found);
  // The first daemon has the shortest name.
  std::ranges::stable_sort(found.sockets, {}, [](const std::string& path) { return path.size(); });
  return found;
}

Result<Fetched> fetch(const std::string& socket, const std::string& path) {
  reactor::Loop loop;
  http::Client client(
      loop.scheduler(),
      [&](reactor::net::Endpoint, Millis deadline, reactor::net::OnConnected done) {
        return reactor::net::connect_unix(loop, socket, deadline, std::move(done));
      },
      reactor::system_random());
  Fetched out;
  std::optional<Result<Unit>> over;
  const auto exchange = client.start(std::make_shared<const http::Target>(http::Target{
                                         .url = {.tls = false, .host = "localhost", .port = 80}}),
                                     {.method = "GET", .path = path},
                                     {.limits = {.body_bytes_max = kPageBytesMax},
                                      .connect_max = kPageAnswerMax,
                                      .head_max = kPageAnswerMax},
                                     {.on_head = [&](const http::Head& head) { out.status = head.status; },
                                      .on_body = [&](std::string_view bytes) { out.body += bytes; },
                                      .on_done = [&] { over = Unit{}; },
                                      .on_failure = [&](const Error& why) { over = why; }});
  while (!over) loop.turn(Millis{1'000});
  if (!*over) return std::move((*over).error()).in(socket);
  return out;
}

void print_no_sockets(const std::string& command, const FoundSockets& found) {
  std::string places;
  for (const std::string& directory : found.looked_in) places += (places.empty() ? "" : " or ") + directory;
  if (!found.denied.empty())
    daemon::print_error(command + ": " + found.denied +
                        "; root and the daemon's own user may read it: sudo sliced " + command);
  else
    daemon::print_error(
        command + ": no daemon has its socket in " + places +
        "; start one (sliced run, or systemctl start sliced), or name its --runtime-directory");
}

}  // namespace sliced::cli
