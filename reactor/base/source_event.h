#pragma once
// What every source (cluster watch, udev, netlink, timer rescan) says. Start-up, ENOBUFS, 410 Gone and
// reconnect are one event that carries the whole set, so that no consumer can forget one of them.
#include <string>
#include <variant>
#include <vector>

namespace sliced {

template <class T>
struct Changed {  // complete facts, never a delta
  T now;
};
template <class T>
struct Removed {
  typename T::Id id;
};
template <class T>
struct Relisted {  // replaces everything known before
  std::vector<T> all;
  std::string why;
  std::vector<typename T::Id> kept = {};  // known before and not in the list, but not to be let go yet
};
template <class T>
using SourceEvent = std::variant<Changed<T>, Removed<T>, Relisted<T>>;

}  // namespace sliced
