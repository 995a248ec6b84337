#include "reactor/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "reactor/base/text.h"
#include "reactor/descriptor.h"

namespace sliced::reactor {
namespace {

Errc errc_of_errno(int number) {
  return number == ENOENT || number == ENOTDIR ? Errc::kNotFound
         : number == EACCES || number == EPERM ? Errc::kDenied
                                               : Errc::kIo;
}

Error cannot_read(const std::string& path, int number) {
  return {errc_of_errno(number), in_quotes(path) + ": cannot be read: " + std::strerror(number)};
}

}  // namespace

Result<std::string> read_small_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return cannot_read(path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return Error{Errc::kInvalid, in_quotes(path) + ": is not a regular file"};
  std::string bytes;
  char chunk[16 << 10];
  for (;;) {
    const ssize_t count = ::read(file.get(), chunk, sizeof chunk);
    if (count == 0) return bytes;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot_read(path, errno);
    bytes.append(chunk, static_cast<size_t>(count));
    if (bytes.size() > kSmallFileBytesMax)
      return Error{Errc::kTooLarge, in_quotes(path) + ": is larger than 1 MiB"};
  }
}

}  // namespace sliced::reactor
