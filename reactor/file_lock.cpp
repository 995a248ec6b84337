#include "reactor/file_lock.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "reactor/base/rate_limited_log.h"
#include "reactor/base/text.h"
#include "reactor/descriptor.h"

namespace sliced::reactor {
namespace {

constexpr Millis kRetry{500};
constexpr Millis kLogInterval{600'000};
constexpr size_t kHolderBytesMax = 256;
constexpr mode_t kOthersWrite = 022;
constexpr mode_t kOthersOpen = 007;
constexpr mode_t kNotOurs = 077;

Error system_error(const std::string& what) {
  const bool is_denied = errno == EACCES || errno == EPERM || errno == EROFS;
  return {is_denied ? Errc::kDenied : Errc::kIo, what + ": " + std::strerror(errno)};
}

std::string octal(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", mode & 07777);
  return text.data();
}

bool is_empty(int directory) {
  const int again = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = again < 0 ? nullptr : ::fdopendir(again);
  if (entries == nullptr) {
    if (again >= 0) ::close(again);
    return false;
  }
  bool empty = true;
  while (const dirent* entry = ::readdir(entries))
    empty &= std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0;
  ::closedir(entries);
  return empty;
}

Result<Descriptor> open_private_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return system_error("create directory " + path);
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory && (errno == ELOOP || errno == ENOTDIR))
    return Error{Errc::kDenied, path + " is not a directory (symbolic links are not followed): remove it"};
  if (!directory) return system_error("open directory " + path);
  struct stat found{};
  if (::fstat(directory.get(), &found) != 0) return system_error("stat " + path);
  if (found.st_uid != ::geteuid())
    return Error{Errc::kDenied, path + " belongs to uid " + std::to_string(found.st_uid) + ", not to uid " +
                                    std::to_string(::geteuid()) +
                                    ", as which this runs: give it to that user or name another directory"};
  if ((found.st_mode & kOthersWrite) == 0 && (found.st_mode & kOthersOpen) != 0 &&
      is_empty(directory.get()) && ::fchmod(directory.get(), found.st_mode & 0750) == 0)
    found.st_mode &= static_cast<mode_t>(~kOthersOpen);
  if ((found.st_mode & (kOthersWrite | kOthersOpen)) != 0)
    return Error{Errc::kDenied, path + " has mode " + octal(found.st_mode) +
                                    ": other users could take the lock in it; chmod 0700 " + path +
                                    ", or name another directory"};
  return directory;
}

}  // namespace

Result<Unit> prepare_private_directory(const std::string& path) {
  const auto opened = open_private_directory(path);
  if (!opened) return opened.error();
  return Unit{};
}

struct FileLock::State {
  State(Scheduler& on, Log& to, Random chance, Where what, std::function<void()> then)
      : scheduler(on),
        log(to),
        random(std::move(chance)),
        where(std::move(what)),
        path(where.directory + "/" + where.file),
        on_acquired(std::move(then)) {
    ticket = scheduler.after(Millis{0}, [this] { attempt(); });
  }

  void attempt() {
    const auto acquired = take();
    if (acquired && *acquired) return acquire();
    acquired ? log_once("another instance is active for " + where.of_what + "; waiting until it ends",
                        "holder", holder)
             : log_once("lock not acquired: nothing is written until it is", "why", acquired.error().what);
    const Millis jitter{static_cast<int64_t>(random() * static_cast<double>(kRetry.count()))};
    ticket = scheduler.after(kRetry + jitter, [this] { attempt(); });
  }

  // Returns false while another process holds it.
  Result<bool> take() {
    const auto directory = open_private_directory(where.directory);
    if (!directory) return directory.error();
    Descriptor opened(::openat(directory->get(), where.file.c_str(),
                               O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    if (!opened) return system_error("open " + path);
    struct stat locked{}, there{};
    if (::fstat(opened.get(), &locked) != 0) return system_error("stat " + path);
    if (!S_ISREG(locked.st_mode)) return Error{Errc::kDenied, path + " is not a regular file: remove it"};
    // A process that can open the file, even for reading, can lock it: members of the directory's group
    // could.
    if (locked.st_uid != ::geteuid())
      return Error{Errc::kDenied, path + " belongs to uid " + std::to_string(locked.st_uid) + ": remove it"};
    if ((locked.st_mode & kNotOurs) != 0 && ::fchmod(opened.get(), 0600) != 0)
      return system_error("close " + path + " to others");
    while (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return system_error("lock " + path);
      read_holder(opened.get());
      return false;
    }
    // If file or directory was replaced since the open, another process can lock the new file.
    if (::lstat(path.c_str(), &there) != 0 || there.st_ino != locked.st_ino || there.st_dev != locked.st_dev)
      return Error{Errc::kIo, path + " was replaced while it was locked"};
    file = std::move(opened);
    write_holder();
    return true;
  }

  void read_holder(int from) {
    std::array<char, kHolderBytesMax> bytes;
    const ssize_t size = ::pread(from, bytes.data(), bytes.size(), 0);
    holder = size > 0 ? escaped(trim({bytes.data(), static_cast<size_t>(size)})) : "unknown";
  }

  // A failure is ignored: only the text of a log line depends on it.
  void write_holder() const {
    std::array<char, 128> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    const std::string text = "pid " + std::to_string(::getpid()) + " on " + host.data() + "\n";
    if (::ftruncate(file.get(), 0) == 0 && ::pwrite(file.get(), text.data(), text.size(), 0) < 0) return;
  }

  void acquire() {
    acquired = true;
    holder.clear();
    if (logged_at) log.info("lock acquired", {{"path", path}});
    if (!on_acquired) return;
    ticket = scheduler.after(Millis{0}, std::exchange(on_acquired, nullptr));
  }

  void log_once(std::string_view what, std::string_view key, const std::string& value) {
    const TimePoint now = scheduler.now();
    if (logged_at && now - *logged_at >= kLogInterval) last_message.forget();
    if (!last_message.is_new(std::string(what) + value)) return;
    logged_at = now;
    log.line(key == "why" ? Level::kWarning : Level::kInfo, what, {{"path", path}, {key, value}});
  }

  Scheduler& scheduler;
  Log& log;
  const Random random;
  const Where where;
  const std::string path;
  std::function<void()> on_acquired;
  Descriptor file;  // locked while it is open
  Ticket ticket;
  std::string holder;
  LastMessage last_message;
  std::optional<TimePoint> logged_at;
  bool acquired = false;
};

FileLock::FileLock(Scheduler& scheduler, Log& log, Random random, Where where,
                   std::function<void()> on_acquired)
    : state_(std::make_unique<State>(scheduler, log, std::move(random), std::move(where),
                                     std::move(on_acquired))) {}
FileLock::~FileLock() = default;

bool FileLock::acquired() const { return state_->acquired; }
const std::string& FileLock::holder() const { return state_->holder; }

}  // namespace sliced::reactor
