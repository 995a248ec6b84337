#include "daemon/node_locks.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "reactor/base/text.h"

namespace sliced::daemon {
namespace {

constexpr const char* kOfWhat = "this driver and node";

constexpr size_t kFileNameMax = 200;  // of the file system's 255

RuntimePorts process_inputs() {
  return {[](const char* name) -> std::optional<std::string> {
            const char* value = std::getenv(name);
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          },
          [](const std::string& path) {
            struct stat found{};
            return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == ::geteuid();
          },
          ::geteuid()};
}

}  // namespace

std::string find_runtime_directory(const std::string& option, const RuntimePorts& ports) {
  if (!option.empty()) return option;
  const auto absolute = [&](const char* name) {
    const std::string value = ports.env(name).value_or("");
    return value.starts_with('/') ? value.substr(0, value.find(':')) : "";
  };
  if (const std::string given = absolute("RUNTIME_DIRECTORY"); !given.empty()) return given;
  if (ports.user == 0) return kSystemDirectory;
  if (ports.is_own_directory(kSystemDirectory)) return kSystemDirectory;
  if (const std::string own = absolute("XDG_RUNTIME_DIR"); !own.empty()) return own + "/sliced";
  // Not /tmp: any user could create the name there first and prevent the start.
  if (const std::string login = "/run/user/" + std::to_string(ports.user); ports.is_own_directory(login))
    return login + "/sliced";
  if (const std::string home = absolute("HOME"); !home.empty() && ports.is_own_directory(home))
    return home + (home.ends_with('/') ? ".sliced" : "/.sliced");
  return "";
}

std::string lock_file_name(const std::string& driver, const std::string& node) {
  std::string name = driver + "_" + node;  // neither has a '_' or a '/' in it
  if (name.size() > kFileNameMax) {
    const std::string hash = "-" + hex(stable_hash(name), 16);
    name.resize(kFileNameMax - hash.size());
    name += hash;
  }
  return name + ".lock";
}

std::string runtime_directory(const config::Options& options) {
  return find_runtime_directory(options.runtime_directory, process_inputs());
}

Result<std::string> NodeLocks::prepare(const config::Options& options) {
  std::string directory = runtime_directory(options);
  if (directory.empty())
    return Error{Errc::kDenied,
                 "--runtime-directory: this user has no directory of its own (XDG_RUNTIME_DIR, "
                 "/run/user/UID, HOME) for the locks by which one daemon a node writes: name one that others "
                 "can neither write to nor open"};
  auto ready = reactor::prepare_private_directory(directory);
  if (!ready) return std::move(ready.error()).in("--runtime-directory");
  return directory;
}

NodeLocks::NodeLocks(Process& process, const config::Options& options, std::string directory)
    : process_(process),
      directory_(std::move(directory)),
      node_(options.node_name),
      first_driver_(std::min(options.sriov_driver_name, options.exposure_driver_name)),
      second_driver_(std::max(options.sriov_driver_name, options.exposure_driver_name)) {}

void NodeLocks::acquire(std::function<void()> on_acquired) {
  on_acquired_ = std::move(on_acquired);
  const auto take = [this](std::optional<reactor::FileLock>& lock, const std::string& driver,
                           std::function<void()> then) {
    lock.emplace(process_.loop.scheduler(), *process_.log, reactor::system_random(),
                 reactor::FileLock::Where{directory_, lock_file_name(driver, node_), kOfWhat},
                 std::move(then));
  };
  take(first_, first_driver_, [this, take] {
    take(second_, second_driver_, [this] {
      if (on_acquired_) on_acquired_();
    });
  });
}

std::string NodeLocks::holder() const {
  if (second_) return second_->holder();
  return first_ ? first_->holder() : "";
}

}  // namespace sliced::daemon
