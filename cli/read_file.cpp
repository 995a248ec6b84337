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

}  // namespace sliced::cli
