#include "cli/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "reactor/descriptor.h"

namespace sliced::cli {
namespace {

// The errno that kept the bytes from being written; 0: they are.
int write_to(const std::string& path, int flags, std::string_view bytes) {
  reactor::Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666));
  if (!file) return errno;
  while (!bytes.empty()) {
    const ssize_t size = write(file.get(), bytes.data(), bytes.size());
    if (size >= 0)
      bytes.remove_prefix(static_cast<size_t>(size));
    else if (errno != EINTR)
      return errno;
  }
  return 0;
}

// /dev/stdout may lead to a regular file, which whoever opened it reads on.
bool is_plain(const std::string& path, const struct stat& is) {
  return S_ISREG(is.st_mode) && !path.starts_with("/dev/") && !path.starts_with("/proc/");
}

// mode: nullptr, there is none yet.
int replace(const std::string& path, const mode_t* mode, std::string_view bytes) {
  const std::string scratch = path + "." + std::to_string(getpid()) + ".tmp";
  int code = write_to(scratch, O_CREAT | O_EXCL, bytes);
  if (code == EEXIST) return code;  // somebody else's
  if (code == 0 && mode != nullptr && chmod(scratch.c_str(), *mode & 07777) != 0) code = errno;
  if (code == 0 && std::rename(scratch.c_str(), path.c_str()) != 0) code = errno;
  if (code != 0) unlink(scratch.c_str());
  return code;
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
  struct stat is{};
  int code = 0;
  if (stat(path.c_str(), &is) != 0) {
    code = replace(path, nullptr, bytes);
  } else if (!is_plain(path, is)) {
    code = write_to(path, 0, bytes);
  } else {
    char* const real = realpath(path.c_str(), nullptr);
    code = replace(real != nullptr ? real : path, &is.st_mode, bytes);
    std::free(real);
  }
  return code == 0 ? Result<Unit>(Unit{}) : Error{Errc::kIo, std::strerror(code)};
}

}  // namespace sliced::cli
