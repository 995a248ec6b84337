#include "kubelet/checkpoint_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "reactor/durable_file.h"

namespace sliced::kubelet {
namespace {

bool is_same_file(int file, const std::string& path) {
  struct stat own{}, named{};
  return ::fstat(file, &own) == 0 && ::lstat(path.c_str(), &named) == 0 && own.st_dev == named.st_dev &&
         own.st_ino == named.st_ino;
}

bool write_at(int file, std::string_view text, size_t at) {
  while (!text.empty()) {
    const ssize_t count = ::pwrite(file, text.data(), text.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
    at += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

Result<Unit> CheckpointFile::write(const std::string& text, size_t room) {
  constexpr unsigned kOursOnly = 0600;
  file_ = reactor::Descriptor(-1);
  auto written = reactor::write_durably(path_, text + std::string(room, ' '), kOursOnly);
  if (!written || room == 0) return written;
  // Where it cannot be opened the next write is a whole file again.
  file_ = reactor::Descriptor(::open(path_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  end_ = text.size();
  room_ = room;
  return written;
}

Result<Unit> CheckpointFile::append(const std::string& text) {
  reactor::Descriptor file = std::exchange(file_, reactor::Descriptor(-1));
  if (!file || text.size() > room_) return Error{Errc::kInvalid, "append to " + path_ + ": it has no room"};
  if (!write_at(file.get(), text, end_) || ::fdatasync(file.get()) != 0)
    return Error{Errc::kIo, "append to " + path_ + ": " + std::strerror(errno)};
  if (!is_same_file(file.get(), path_))
    return Error{Errc::kInvalid, "append to " + path_ + ": it was replaced or removed"};
  file_ = std::move(file);
  end_ += text.size();
  room_ -= text.size();
  return Unit{};
}

}  // namespace sliced::kubelet
