#include "cli/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "reactor/base/text.h"
#include "reactor/descriptor.h"

namespace sliced::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kLinksMax = 40;  // limit of path_resolution(7)
constexpr int kScratchesMax = 100;

// Returns 0 if all bytes are written, otherwise errno.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(file, bytes.data(), bytes.size());
    if (size >= 0)
      bytes.remove_prefix(static_cast<size_t>(size));
    else if (errno != EINTR)
      return errno;
  }
  return 0;
}

int write_in_place(const fs::path& path, int flags, std::string_view bytes) {
  const reactor::Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666));
  return file ? write_all(file.get(), bytes) : errno;
}

// Returns whether the path is /proc/PID/fd/N, whose target is open already and may have been unlinked.
bool is_descriptor(const fs::path& path) {
  const std::string folder = path.parent_path();
  return folder.starts_with("/proc/") && folder.ends_with("/fd");
}

// Returns the target of the path: a file, a file to create, or an open descriptor.
fs::path destination_of(fs::path path) {
  std::error_code failed;
  for (int links = 0; links < kLinksMax; ++links) {
    const fs::path folder = fs::canonical(path.has_parent_path() ? path.parent_path() : ".", failed);
    if (failed) break;
    path = folder / path.filename();
    if (is_descriptor(path)) break;
    const fs::path to = fs::read_symlink(path, failed);
    if (failed) break;
    path = folder / to;
  }
  return path;
}

// Continues an own descriptor at its position, another process's at its end.
int write_on(const fs::path& path, std::string_view bytes) {
  struct stat is{};
  if (lstat(path.c_str(), &is) != 0) return errno;
  const bool is_own = path.parent_path() == fs::path("/proc") / std::to_string(getpid()) / "fd";
  const reactor::Descriptor file(is_own ? dup(std::atoi(path.filename().c_str()))
                                        : open(path.c_str(), O_WRONLY | O_CLOEXEC | O_APPEND));
  return file ? write_all(file.get(), bytes) : errno;
}

// Creates a file with an unused name, so that a file of a killed process has no effect.
reactor::Descriptor make_scratch(const fs::path& folder, mode_t mode, fs::path& name) {
  std::random_device random;
  reactor::Descriptor out;
  for (int i = 0; i < kScratchesMax && !out && (i == 0 || errno == EEXIST); ++i) {
    name = folder / (".sliced-" + hex(random(), 8) + ".tmp");
    out = reactor::Descriptor(open(name.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, mode));
  }
  return out;
}

// Copies owner and mode of the old file, without set-user-ID and set-group-ID bits.
int take_after(int file, const struct stat& old) {
  struct stat is{};
  if (fstat(file, &is) != 0) return errno;
  if ((is.st_uid != old.st_uid || is.st_gid != old.st_gid) && fchown(file, old.st_uid, old.st_gid) != 0)
    return errno;
  return fchmod(file, old.st_mode & 0777) == 0 ? 0 : errno;
}

// old: nullptr if the file does not exist.
int replace(const fs::path& path, const struct stat* old, std::string_view bytes) {
  fs::path scratch;
  const reactor::Descriptor file = make_scratch(path.parent_path(), old != nullptr ? 0600 : 0666, scratch);
  if (!file) return errno;
  int code = old != nullptr ? take_after(file.get(), *old) : 0;
  if (code == 0) code = write_all(file.get(), bytes);
  if (code == 0 && std::rename(scratch.c_str(), path.c_str()) != 0) code = errno;
  if (code != 0) unlink(scratch.c_str());
  return code;
}

// Returns whether the directory prevents replacing the file. The file itself may still be writable.
bool is_not_replaceable(int code) {
  return code == EACCES || code == EPERM || code == EROFS || code == EBUSY;
}

// O_CREAT: refuses another user's file in a shared directory (fs.protected_regular).
int write_regular(const fs::path& path, const struct stat& old, std::string_view bytes) {
  if (const reactor::Descriptor may(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT, 0666)); !may)
    return errno;
  const int code = replace(path, &old, bytes);
  return is_not_replaceable(code) ? write_in_place(path, O_TRUNC, bytes) : code;
}

}  // namespace

Result<std::string> read_whole(const std::string& path, size_t bytes_max) {
  const reactor::Descriptor file(path == "-" ? dup(0) : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error{Errc::kIo, std::strerror(errno)};
  std::string out, piece(65536, '\0');
  ssize_t got = 0;
  while (out.size() <= bytes_max && (got = read(file.get(), piece.data(), piece.size())) > 0)
    out.append(piece, 0, static_cast<size_t>(got));
  if (got < 0) return Error{Errc::kIo, std::strerror(errno)};
  if (out.size() > bytes_max)
    return Error{Errc::kTooLarge, "is larger than " + std::to_string(bytes_max >> 20) + " MiB; split it"};
  return out;
}

Result<Unit> for_each_line(const std::string& path, size_t line_bytes_max,
                           const std::function<void(std::string_view)>& each) {
  const reactor::Descriptor file(path == "-" ? dup(0) : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error{Errc::kIo, std::strerror(errno)};
  std::string rest, piece(65536, '\0');
  ssize_t got = 0;
  while ((got = read(file.get(), piece.data(), piece.size())) > 0) {
    rest.append(piece, 0, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = 0; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1)
      each(std::string_view(rest).substr(begin, end - begin));
    rest.erase(0, begin);
    if (rest.size() > line_bytes_max)
      return Error{Errc::kTooLarge,
                   "has a line of more than " + std::to_string(line_bytes_max >> 20) + " MiB"};
  }
  if (got < 0) return Error{Errc::kIo, std::strerror(errno)};
  if (!rest.empty()) each(rest);
  return Unit{};
}

Result<Unit> write_whole(const std::string& path, std::string_view bytes) {
  struct stat old{};
  // Does not follow a symbolic link that the kernel refuses to follow (fs.protected_symlinks).
  if (stat(path.c_str(), &old) != 0 && errno != ENOENT) return Error{Errc::kIo, std::strerror(errno)};
  const fs::path place = destination_of(path);
  int code = 0;
  if (is_descriptor(place))
    code = write_on(place, bytes);
  else if (stat(place.c_str(), &old) != 0)
    code = errno == ENOENT ? replace(place, nullptr, bytes) : errno;
  else if (S_ISREG(old.st_mode))
    code = write_regular(place, old, bytes);
  else
    code = write_in_place(place, 0, bytes);
  return code == 0 ? Result<Unit>(Unit{}) : Error{Errc::kIo, std::strerror(code)};
}

}  // namespace sliced::cli
