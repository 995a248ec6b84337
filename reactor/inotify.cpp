#include "reactor/inotify.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "reactor/base/text.h"
#include "reactor/loop.h"
#include "reactor/poll.h"

namespace sliced::reactor {
namespace {

constexpr uint32_t kMask = IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                           IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

Error watch_error(int code, const std::string& directory) {
  const std::string at = "watch " + in_quotes(directory);
  switch (code) {
    case ENOENT:
      return {Errc::kNotFound, at + ": no such directory"};
    case EACCES:
      return {Errc::kDenied, at + ": permission denied"};
    case ENOTDIR:
      return {Errc::kInvalid, at + ": not a directory"};
    case ENOSPC:
      return {Errc::kTooLarge, at + ": no watches left; raise the sysctl fs.inotify.max_user_watches"};
    default:
      return {Errc::kIo, at + ": " + std::strerror(code)};
  }
}

FileEvent::Kind kind_of(uint32_t mask) {
  if (mask & IN_CREATE) return FileEvent::Kind::kCreated;
  if (mask & IN_CLOSE_WRITE) return FileEvent::Kind::kWritten;
  if (mask & IN_MOVED_TO) return FileEvent::Kind::kMovedIn;
  if (mask & IN_MOVED_FROM) return FileEvent::Kind::kMovedOut;
  return FileEvent::Kind::kDeleted;
}

}  // namespace

Result<std::unique_ptr<Inotify>> Inotify::open(Loop& loop, OnEvent on_event) {
  Descriptor fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd && errno == EMFILE)
    return Error{Errc::kTooLarge,
                 "inotify: too many instances or open files; raise fs.inotify.max_user_instances"};
  if (!fd) return Error{Errc::kIo, std::string("inotify: ") + std::strerror(errno)};
  std::unique_ptr<Inotify> made(new Inotify(std::move(fd), std::move(on_event)));
  auto poll = Poll::open(loop, made->fd_.get(), [self = made.get()](Poll::Ready) { self->read_events(); });
  if (!poll) return std::move(poll.error()).in("inotify");
  made->poll_ = std::move(poll).value();
  made->poll_->interest(true, false);
  return made;
}

Inotify::Inotify(Descriptor fd, OnEvent on_event) : fd_(std::move(fd)), on_event_(std::move(on_event)) {}

Inotify::~Inotify() = default;

Result<Unit> Inotify::watch(const std::string& directory) {
  const int wd = inotify_add_watch(fd_.get(), directory.c_str(), kMask);
  if (wd < 0) return watch_error(errno, directory);
  // The path may refer to another directory now: the old one was renamed, and a new one created.
  std::erase_if(directories_, [&](const auto& entry) {
    if (entry.second != directory || entry.first == wd) return false;
    inotify_rm_watch(fd_.get(), entry.first);
    return true;
  });
  directories_[wd] = directory;
  return Unit{};
}

void Inotify::read_events() {
  alignas(inotify_event) char buffer[8192];
  const ssize_t size = ::read(fd_.get(), buffer, sizeof buffer);  // the rest causes another readiness event
  for (ssize_t at = 0; at < size;) {
    inotify_event event;
    std::memcpy(&event, buffer + at, sizeof event);
    const char* name = buffer + at + sizeof event;
    deliver(event.wd, event.mask, event.len == 0 ? "" : std::string(name, strnlen(name, event.len)));
    at += static_cast<ssize_t>(sizeof event + event.len);
  }
}

void Inotify::deliver(int wd, uint32_t mask, std::string name) {
  const CallbackGuard::Call running(callbacks_);
  if (mask & IN_Q_OVERFLOW) return on_event_(FileEvent{});
  const auto at = directories_.find(wd);
  if (at == directories_.end()) return;
  FileEvent event{.directory = at->second, .name = std::move(name), .is_directory = (mask & IN_ISDIR) != 0};
  if (mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)) {
    event.kind = FileEvent::Kind::kDirectoryGone;
    event.is_directory = true;
    if (mask & IN_MOVE_SELF) inotify_rm_watch(fd_.get(), wd);
    directories_.erase(at);
  } else {
    event.kind = kind_of(mask);
  }
  on_event_(event);
}

}  // namespace sliced::reactor
