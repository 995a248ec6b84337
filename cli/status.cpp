#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "cli/commands.h"
#include "cli/node_locks.h"
#include "cli/process.h"
#include "cli/show.h"
#include "cli/status_page.h"
#include "http/client.h"
#include "reactor/durable_file.h"
#include "reactor/net/unix_stream.h"
#include "status/door.h"

namespace sliced::cli {
namespace {

constexpr Millis kStatusAnswerMax{5'000};
constexpr size_t kStatusFilesMax = 4'096, kStatusBytesMax = 256u << 20;
constexpr int kExitNotReady = 2;

// The sockets of daemons that run here, and what kept from looking for them.
struct Found {
  std::vector<std::string> sockets, looked_in;
  std::string denied;
};

void look_in(const std::string& directory, const std::string& pod_uid, Found& found) {
  found.looked_in.push_back(directory);
  const auto names = reactor::list_names(directory, kStatusFilesMax);
  if (!names) return void(found.denied = names.error().what);
  const auto own = status::socket_names(pod_uid);
  for (const std::string& name : *names)
    if (pod_uid.empty() ? status::is_socket_name(name) : name == own[0])
      found.sockets.push_back(directory + "/" + name);
}

Found find_sockets(const config::Options& options) {
  Found found;
  std::set<std::string> directories = {kSystemDirectory};
  if (!options.runtime_directory.empty()) directories = {options.runtime_directory};
  if (const std::string own = runtime_directory(options); !own.empty()) directories.insert(own);
  for (const std::string& directory : directories) look_in(directory, options.pod_uid, found);
  // The first of the names, which is the shortest, is that of whoever came first.
  std::ranges::stable_sort(found.sockets, {}, [](const std::string& path) { return path.size(); });
  return found;
}

struct Fetched {
  int status = 0;
  std::string body;
};

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
                                     {.limits = {.body_bytes_max = kStatusBytesMax},
                                      .connect_max = kStatusAnswerMax,
                                      .head_max = kStatusAnswerMax},
                                     {.on_head = [&](const http::Head& head) { out.status = head.status; },
                                      .on_body = [&](std::string_view bytes) { out.body += bytes; },
                                      .on_done = [&] { over = Unit{}; },
                                      .on_failure = [&](const Error& why) { over = why; }});
  while (!over) loop.turn(Millis{1'000});
  if (!*over) return std::move((*over).error()).in(socket);
  return out;
}

int complain_of_none(const Found& found) {
  std::string places;
  for (const std::string& directory : found.looked_in) places += (places.empty() ? "" : " or ") + directory;
  if (!found.denied.empty())
    complain("status: " + found.denied + "; root and the daemon's own user may read it: sudo sliced status");
  else
    complain("status: no daemon has its socket in " + places +
             "; start one (sliced run, or systemctl start sliced), or name its --runtime-directory");
  return kExitError;
}

// Of a page: as the daemon has it.
int show_page(const Found& found, const std::string& page) {
  const auto fetched = fetch(found.sockets[0], "/" + page);
  if (!fetched) return complain("status: " + fetched.error().what), kExitError;
  if (!print(fetched->body)) return kExitError;
  return fetched->status == 200 ? kExitSame : kExitNotReady;
}

}  // namespace

int status(const config::Options& options) {
  const Found found = find_sockets(options);
  if (found.sockets.empty()) return complain_of_none(found);
  if (!options.arguments.empty()) return show_page(found, options.arguments[0]);
  int exit = kExitSame;
  std::vector<kube::Json> reports;
  for (const std::string& socket : found.sockets) {
    const auto fetched = fetch(socket, "/status");
    const auto report = fetched ? kube::decode_json(fetched->body) : Result<kube::Json>(fetched.error());
    if (report) {
      if (!is_so(*report, "ready")) exit = std::max(exit, kExitNotReady);
      reports.push_back(*report);
    } else if (found.sockets.size() == 1) {
      complain("status: " + report.error().what + "; does the daemon still run, and does it answer at all?");
    } else {
      complain("status: " + report.error().what);
    }
  }
  if (reports.empty()) return kExitError;
  std::stable_partition(reports.begin(), reports.end(),
                        [](const auto& one) { return is_so(one, "serving"); });
  std::string out;
  for (const kube::Json& report : reports) out += (out.empty() ? "" : "\n") + status_text(report);
  if (options.output != config::OutputFormat::kTable)
    out = formatted(list_of(std::move(reports)), options.output);
  return print(out) ? exit : kExitError;
}

}  // namespace sliced::cli
