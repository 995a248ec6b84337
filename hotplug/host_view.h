#pragma once
// The host's files as a tiny view: read, list, readlink below one root. Paths are relative to that root and
// start with "sys/", "proc/" or "run/". With --host ROOT everything is opened beneath ROOT (openat2 RESOLVE_IN_ROOT),
// so that a link in a customer's snapshot cannot lead outside.
//
// Threads: const and safe to use from workers. Every call may block.
// Errors:  kNotFound (ENOENT, ENODEV, ENXIO: the entry is not there, or its device went away), kInvalid
//          (EINVAL, EOPNOTSUPP, ENOTSUP: the entry is there and the kernel has no value for it), kDenied,
//          kTooLarge, kIo (the text has the path and the errno's name).
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/link_properties.h"
#include "hotplug/route_links.h"
#include "reactor/base/result.h"

namespace sliced::hotplug {

/// A directory held open, so that reading its entries walks no path and cannot be led elsewhere by a
/// rename. Names are single components, and a link is not followed. It stays open after the directory is
/// gone: every read is then kNotFound.
/// Threads: one at a time.
class HostDir {
 public:
  virtual ~HostDir() = default;
  virtual Result<std::string> read(std::string_view name, size_t size_max = 4096) const = 0;
  virtual Result<std::vector<std::string>> list() const = 0;
  virtual Result<std::string> readlink(std::string_view name) const = 0;
};

class HostView {
 public:
  virtual ~HostView() = default;
  /// The bytes of a small file, white space at the end cut off. size_max bounds it (sysfs attributes are at
  /// most a page).
  virtual Result<std::string> read(std::string_view path, size_t size_max = 4096) const = 0;
  /// Names in a directory, sorted, without "." and "..".
  virtual Result<std::vector<std::string>> list(std::string_view path) const = 0;
  /// A link's text as it stands.
  virtual Result<std::string> readlink(std::string_view path) const = 0;
  /// Follows links. The default asks read(), list() and readlink() with whole paths; *this must outlive what
  /// it returns.
  virtual Result<std::unique_ptr<HostDir>> open_dir(std::string_view path) const;
  /// Ifindexes of the links that carry routes of the host (ask_route_links()): proc/net/route shows only
  /// the main table, and the first of several next hops; proc/net/ipv6_route those of all tables. Only the
  /// running system can be asked: nullopt for a snapshot.
  virtual Result<std::optional<RouteLinks>> route_links() const { return std::optional<RouteLinks>{}; }
  /// Properties of a link that no file has: of the running system, empty for any other.
  virtual Result<LinkProperties> link_properties(int ifindex) const {
    (void)ifindex;
    return LinkProperties{};
  }
  /// How often a file could not be opened for want of descriptors, of this process or of the system. What was said to be
  /// unreadable meanwhile may well be there.
  virtual uint64_t shortages() const { return 0; }
  /// True when this is the running system ("/"), false for a snapshot below another root.
  virtual bool is_live() const = 0;
};

/// Entries of one directory that list() accepts; more is kTooLarge.
inline constexpr size_t kDirEntriesMax = 65536;

/// root "/" is the running system.
/// Errors: kNotFound or kDenied for root itself; kIo where another root cannot be confined because the
///         kernel has no openat2 (Linux < 5.6).
Result<std::unique_ptr<HostView>> open_host_view(const std::string& root);

}  // namespace sliced::hotplug
