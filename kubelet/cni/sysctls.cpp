#include "kubelet/cni/sysctls.h"

#include <sys/mount.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sliced::cni {
namespace {

Error failed_at(const std::string& path) {
  const int error = errno;
  return {error == EPERM || error == EACCES ? Errc::kDenied : Errc::kIo,
          "make " + path + " writable: " + std::strerror(error)};
}

// Returns the mount's other flags, which stay.
unsigned long kept_flags(unsigned long found) {
  unsigned long flags = 0;
  for (const auto& [stat, mount] : {std::pair<unsigned long, unsigned long>{ST_NOSUID, MS_NOSUID},
                                    {ST_NODEV, MS_NODEV},
                                    {ST_NOEXEC, MS_NOEXEC},
                                    {ST_NOATIME, MS_NOATIME},
                                    {ST_RELATIME, MS_RELATIME}})
    if ((found & stat) != 0) flags |= mount;
  return flags;
}

}  // namespace

Result<Unit> make_writable(const std::string& path) {
  struct statvfs found{};
  if (::statvfs(path.c_str(), &found) != 0) return failed_at(path);
  if ((found.f_flag & ST_RDONLY) == 0) return Unit{};
  const unsigned long flags = MS_REMOUNT | MS_BIND | kept_flags(found.f_flag);
  if (::mount(nullptr, path.c_str(), nullptr, flags, nullptr) != 0) return failed_at(path);
  return Unit{};
}

}  // namespace sliced::cni
