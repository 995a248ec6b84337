#include "hotplug/host_view.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "hotplug/default_routes.h"
#include "reactor/base/text.h"
#include "reactor/descriptor.h"

namespace sliced::hotplug {
namespace {

using reactor::Descriptor;

// An attribute is one page and is read by one call; longer files (lists of proc) require several.
constexpr size_t kAttributeSizeMax = 4096;
constexpr size_t kLinkSizeMax = 4096;

Error errno_error(std::string_view path, int number) {
  const char* name = ::strerrorname_np(number);
  Errc code = Errc::kIo;
  switch (number) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      code = Errc::kNotFound;
      break;
    case EACCES:
    case EPERM:
      code = Errc::kDenied;
      break;
    case EINVAL:
    case EOPNOTSUPP:
      code = Errc::kInvalid;
      break;
    default:
      break;
  }
  return Error{code, escaped(path) + ": " + (name != nullptr ? name : "errno " + std::to_string(number))};
}

// One of a view and of the directories that it has opened.
class Shortages {
 public:
  Error failed_to_open(std::string_view path, int number) const {
    if (number == EMFILE || number == ENFILE) ++*count_;
    return errno_error(path, number);
  }
  uint64_t count() const { return *count_; }

 private:
  std::shared_ptr<std::atomic<uint64_t>> count_ = std::make_shared<std::atomic<uint64_t>>(0);
};

template <class Call>
auto retried(Call call) {
  for (;;) {
    const auto rc = call();
    if (rc >= 0 || errno != EINTR) return rc;
  }
}

Result<std::string> read_whole(const Descriptor& fd, std::string_view path, size_t size_max) {
  char page[kAttributeSizeMax + 1];
  std::string bytes;
  for (;;) {
    const ssize_t got = retried([&] { return ::read(fd.get(), page, sizeof page); });
    if (got < 0) return errno_error(path, errno);
    bytes.append(page, static_cast<size_t>(got));
    if (bytes.size() > size_max)
      return Error{Errc::kTooLarge, escaped(path) + ": more than " + std::to_string(size_max) + " bytes"};
    const bool whole_attribute = size_max <= kAttributeSizeMax && static_cast<size_t>(got) < sizeof page;
    if (got == 0 || whole_attribute) break;
  }
  size_t length = bytes.size();
  while (length > 0 && std::strchr(" \t\r\n", bytes[length - 1]) != nullptr) --length;
  bytes.resize(length);
  return bytes;
}

Result<std::vector<std::string>> list_names(const Descriptor& fd, std::string_view path) {
  std::vector<std::string> names;
  alignas(dirent64) char buffer[16384];
  for (;;) {
    const long got = retried([&] { return ::syscall(SYS_getdents64, fd.get(), buffer, sizeof buffer); });
    if (got < 0) return errno_error(path, errno);
    if (got == 0) break;
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (names.size() == kDirEntriesMax)
        return Error{Errc::kTooLarge,
                     escaped(path) + ": more than " + std::to_string(kDirEntriesMax) + " entries"};
      names.emplace_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> read_link_at(int dir, const char* name, std::string_view path) {
  char target[kLinkSizeMax];
  const ssize_t got = ::readlinkat(dir, name, target, sizeof target);
  if (got < 0) return errno_error(path, errno);
  if (got == static_cast<ssize_t>(sizeof target))
    return Error{Errc::kTooLarge, escaped(path) + ": link too long"};
  return std::string(target, static_cast<size_t>(got));
}

bool is_single_component(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

// A single component opened with O_NOFOLLOW cannot leave its directory, so no openat2 is needed here.
class OpenDir final : public HostDir {
 public:
  OpenDir(Descriptor fd, std::string_view path, Shortages shortages)
      : fd_(std::move(fd)), path_(path), shortages_(std::move(shortages)) {}

  Result<std::string> read(std::string_view name, size_t size_max) const override {
    if (!is_single_component(name)) return errno_error(below(name), EINVAL);
    const std::string text(name);
    const Descriptor file(
        ::openat(fd_.get(), text.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    if (!file) return shortages_.failed_to_open(below(name), errno);
    auto bytes = read_whole(file, name, size_max);
    if (!bytes) return std::move(bytes.error()).in(escaped(path_));
    return bytes;
  }

  Result<std::vector<std::string>> list() const override {
    if (std::exchange(listed_, true)) ::lseek(fd_.get(), 0, SEEK_SET);
    return list_names(fd_, path_);
  }

  Result<std::string> readlink(std::string_view name) const override {
    if (!is_single_component(name)) return errno_error(below(name), EINVAL);
    char target[kLinkSizeMax];
    const ssize_t got = ::readlinkat(fd_.get(), std::string(name).c_str(), target, sizeof target);
    if (got < 0) return errno_error(below(name), errno);
    if (got == static_cast<ssize_t>(sizeof target)) return errno_error(below(name), ENAMETOOLONG);
    return std::string(target, static_cast<size_t>(got));
  }

 private:
  std::string below(std::string_view name) const { return path_ + "/" + std::string(name); }

  Descriptor fd_;
  std::string path_;
  const Shortages shortages_;
  mutable bool listed_ = false;
};

class FileHostView final : public HostView {
 public:
  FileHostView(Descriptor root, bool is_live) : root_(std::move(root)), is_live_(is_live) {}

  Result<std::string> read(std::string_view path, size_t size_max) const override {
    const Descriptor file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!file) return shortages_.failed_to_open(path, errno);
    return read_whole(file, path, size_max);
  }

  Result<std::vector<std::string>> list(std::string_view path) const override {
    const Descriptor dir = open(path, O_RDONLY | O_DIRECTORY);
    if (!dir) return shortages_.failed_to_open(path, errno);
    return list_names(dir, path);
  }

  Result<std::string> readlink(std::string_view path) const override {
    const Descriptor link = open(path, O_PATH | O_NOFOLLOW);
    if (!link) return shortages_.failed_to_open(path, errno);
    auto target = read_link_at(link.get(), "", path);
    // readlinkat("") on a file that is not a link returns ENOENT; report the error of a plain readlink.
    if (!target && target.error().code == Errc::kNotFound) return errno_error(path, EINVAL);
    return target;
  }

  Result<std::unique_ptr<HostDir>> open_dir(std::string_view path) const override {
    Descriptor dir = open(path, O_RDONLY | O_DIRECTORY);
    if (!dir) return shortages_.failed_to_open(path, errno);
    return std::unique_ptr<HostDir>(std::make_unique<OpenDir>(std::move(dir), path, shortages_));
  }

  Result<std::optional<RouteLinks>> route_links() const override {
    if (!is_live_) return HostView::route_links();
    auto links = query_route_links();
    if (!links) return links.error();
    return std::optional(std::move(*links));
  }

  Result<LinkProperties> link_properties(int ifindex) const override {
    return is_live_ ? query_link_properties(ifindex) : HostView::link_properties(ifindex);
  }

  Result<std::string> devlink_port(int ifindex) const override {
    return is_live_ ? query_devlink_port(ifindex) : HostView::devlink_port(ifindex);
  }

  uint64_t shortages() const override { return shortages_.count(); }
  bool is_live() const override { return is_live_; }

 private:
  Descriptor open(std::string_view path, int flags) const {
    if (path.empty() || path[0] == '/' || path.find('\0') != std::string_view::npos) {
      errno = EINVAL;
      return Descriptor(-1);
    }
    const std::string text(path);
    if (is_live_) return Descriptor(::openat(root_.get(), text.c_str(), flags | O_CLOEXEC));
    open_how how{};
    how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    // EAGAIN: a rename during the walk of a "..", so the kernel could not determine whether it stayed inside.
    for (int tries = 0;; ++tries) {
      const long fd = ::syscall(SYS_openat2, root_.get(), text.c_str(), &how, sizeof how);
      if (fd >= 0 || errno != EAGAIN || tries == 16) return Descriptor(static_cast<int>(fd));
    }
  }

  Descriptor root_;
  bool is_live_;
  const Shortages shortages_;
};

// For views that are not backed by files.
class PathDir final : public HostDir {
 public:
  PathDir(const HostView& host, std::string_view path) : host_(host), path_(std::string(path) + "/") {}
  Result<std::string> read(std::string_view name, size_t size_max) const override {
    return host_.read(path_ + std::string(name), size_max);
  }
  Result<std::vector<std::string>> list() const override {
    return host_.list(std::string_view(path_).substr(0, path_.size() - 1));
  }
  Result<std::string> readlink(std::string_view name) const override {
    return host_.readlink(path_ + std::string(name));
  }

 private:
  const HostView& host_;
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<HostDir>> HostView::open_dir(std::string_view path) const {
  if (auto names = list(path); !names) return names.error();
  return std::unique_ptr<HostDir>(std::make_unique<PathDir>(*this, path));
}

Result<std::unique_ptr<HostView>> open_host_view(const std::string& root) {
  Descriptor dir(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!dir) return errno_error(root, errno);
  const bool is_live = root.find_first_not_of('/') == std::string::npos;
  if (!is_live) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT;
    const Descriptor probe(static_cast<int>(::syscall(SYS_openat2, dir.get(), ".", &how, sizeof how)));
    if (!probe)
      return Error{Errc::kIo, in_quotes(root) + " cannot be read safely: the kernel refuses openat2 (" +
                                  ::strerrorname_np(errno) + "); Linux 5.6 or later is needed"};
  }
  return std::unique_ptr<HostView>(std::make_unique<FileHostView>(std::move(dir), is_live));
}

}  // namespace sliced::hotplug
