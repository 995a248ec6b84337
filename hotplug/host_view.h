#pragma once
// The host's files as a small interface: read, list, readlink below one root. Paths are relative to that root
// and start with "sys/", "proc/" or "run/". With --host ROOT everything is opened beneath ROOT (openat2
// RESOLVE_IN_ROOT), so that a link in a snapshot cannot lead outside.
//
// Threads: const and safe on workers. Every call may block.
// Errors:  kNotFound (ENOENT, ENODEV, ENXIO: the entry does not exist, or its device was removed), kInvalid
//          (EINVAL, EOPNOTSUPP, ENOTSUP: the entry exists and the kernel has no value for it), kDenied,
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

/// An open directory: its entries are read without a path walk, so a rename cannot redirect the reads. Names
/// are single components, and links are not followed. It stays open after the directory is removed; every
/// read then returns kNotFound. Threads: one at a time.
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
  /// Returns the content of a small file without trailing white space. size_max: limit in bytes (sysfs
  /// attributes are at most a page).
  virtual Result<std::string> read(std::string_view path, size_t size_max = 4096) const = 0;
  /// Returns the names in a directory, sorted, without "." and "..".
  virtual Result<std::vector<std::string>> list(std::string_view path) const = 0;
  /// Returns a link's text unchanged.
  virtual Result<std::string> readlink(std::string_view path) const = 0;
  /// Opens a directory; follows links. The default implementation calls read(), list() and readlink() with
  /// whole paths; *this must outlive the result.
  virtual Result<std::unique_ptr<HostDir>> open_dir(std::string_view path) const;
  /// Returns the ifindexes of the links that carry routes of the host (query_route_links()); nullopt for a
  /// snapshot. The files are less precise: proc/net/route shows only the main table, and the first of several
  /// next hops; proc/net/ipv6_route shows all tables.
  virtual Result<std::optional<RouteLinks>> route_links() const { return std::optional<RouteLinks>{}; }
  /// Returns the properties of a link that no file contains; empty for a snapshot.
  virtual Result<LinkProperties> link_properties(int ifindex) const {
    (void)ifindex;
    return LinkProperties{};
  }
  /// Returns the name of a link's devlink port (query_devlink_port()); "" unless this is the running system.
  virtual Result<std::string> devlink_port(int ifindex) const {
    (void)ifindex;
    return std::string();
  }
  /// Returns how often a file could not be opened because this process or the system had no free descriptors.
  /// Entries that were reported as unreadable since may exist.
  virtual uint64_t shortages() const { return 0; }
  /// Returns true for the running system ("/"), false for a snapshot below another root.
  virtual bool is_live() const = 0;
};

/// Limit of entries for list(); above it kTooLarge.
inline constexpr size_t kDirEntriesMax = 65536;

/// root "/" is the running system. Errors: kNotFound or kDenied for root itself; kIo if another root cannot
/// be confined because the kernel has no openat2 (Linux < 5.6).
Result<std::unique_ptr<HostView>> open_host_view(const std::string& root);

}  // namespace sliced::hotplug
