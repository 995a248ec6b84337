#include "cli/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "reactor/descriptor.h"

namespace sliced::cli {

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

}  // namespace sliced::cli
