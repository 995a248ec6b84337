#include "kubelet/sockets.h"

#include <filesystem>
#include <system_error>

#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

constexpr size_t kPathMax = 107;  // unix(7)

bool fits(const std::string& path) { return path.size() <= kPathMax; }

// Where the path with the whole UID fits, that; else with a hash.
std::string pick(const std::string& before, const std::string& pod_uid, const std::string& after) {
  const std::string whole = before + pod_uid + after;
  return fits(whole) ? whole : before + hex(stable_hash(pod_uid), 16) + after;
}

}  // namespace

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
               escaped(folder) + ": " + (failed ? failed.message() : "is no directory")};
}

}  // namespace sliced::kubelet
