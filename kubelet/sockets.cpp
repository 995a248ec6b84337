#include "kubelet/sockets.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "reactor/base/text.h"
#include "reactor/durable_file.h"
#include "reactor/net/listener.h"

namespace sliced::kubelet {
namespace {

constexpr size_t kPathMax = 107;  // unix(7)

bool fits(const std::string& path) { return path.size() <= kPathMax; }

// Returns the path with the whole UID if it fits, otherwise with a hash of it.
std::string pick(const std::string& before, const std::string& pod_uid, const std::string& after) {
  const std::string whole = before + pod_uid + after;
  return fits(whole) ? whole : before + hex(stable_hash(pod_uid), 16) + after;
}

constexpr size_t kFilesMax = 4'096;  // per directory

// Registration sockets come first: the kubelet finds plugins by them.
Result<std::vector<std::string>> sockets_in(const std::string& directory, const std::string& start,
                                            std::string_view end) {
  auto names = reactor::list_names(directory, kFilesMax, [&](std::string_view name) {
    return name == start + std::string(end) || (name.starts_with(start + "-") && name.ends_with(end));
  });
  if (!names) return names;
  for (std::string& name : *names) name = directory + "/" + name;
  return names;
}

}  // namespace

Result<Unit> remove_silent_others(const SocketDirectories& directories, const std::string& driver,
                                  const SocketPaths& own) {
  auto registrations = sockets_in(directories.registrar, driver, "-reg.sock");
  auto services = sockets_in(own.folder, "dra", ".sock");
  for (const auto* list : {&registrations, &services}) {
    if (!*list) return Error(list->error());
    for (const std::string& path : **list) {
      if (path == own.registration || path == own.service) continue;
      auto removed = reactor::net::remove_unanswered(path);
      if (!removed && removed.error().code != Errc::kInvalid) return removed;  // no socket: it stays
    }
  }
  return Unit{};
}

Result<SocketPaths> socket_paths(const SocketDirectories& directories, const std::string& driver,
                                 const std::string& pod_uid) {
  SocketPaths paths;
  paths.folder = directories.plugins + "/" + driver;
  const std::string registrar = directories.registrar + "/" + driver;
  paths.service =
      pod_uid.empty() ? paths.folder + "/dra.sock" : pick(paths.folder + "/dra-", pod_uid, ".sock");
  paths.registration =
      pod_uid.empty() ? registrar + "-reg.sock" : pick(registrar + "-", pod_uid, "-reg.sock");
  for (const std::string* path : {&paths.service, &paths.registration})
    if (!fits(*path))
      return Error{Errc::kInvalid, "driver " + driver + ": the socket " + escaped(*path) + " has " +
                                       std::to_string(path->size()) +
                                       " bytes, and a unix socket's path at most " +
                                       std::to_string(kPathMax) + ": choose a shorter directory"};
  return paths;
}

Result<Unit> make_folder(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (!failed && std::filesystem::is_directory(folder, failed)) return Unit{};
  const bool is_denied = failed == std::errc::permission_denied;
  return Error{is_denied ? Errc::kDenied : Errc::kIo,
               escaped(folder) + ": " + (failed ? failed.message() : "is not a directory")};
}

}  // namespace sliced::kubelet
