#pragma once
// Events of sources (cluster watch, udev, netlink, periodic scan). Start, ENOBUFS, 410 Gone and reconnect are
// one event with the complete set, so that a consumer handles them in one place.
#include <string>
#include <variant>
#include <vector>

namespace sliced {

/// An object is new or has changed. T::Id identifies it.
template <class T>
struct Changed {  // complete facts, never a delta
  T now;
};
/// An object was removed. No effect if it was unknown.
template <class T>
struct Removed {
  typename T::Id id;
};
/// The initial list of a source, or a new list after events may have been lost. Replaces all known objects
/// except `kept`. why: for the log.
template <class T>
struct Relisted {  // replaces everything known before
  std::vector<T> all;
  std::string why;
  std::vector<typename T::Id> kept =
      {};  // known objects that are not in the list and must be kept for the present
};
/// Delivered in order on the loop thread. The first event of a source is a Relisted; none follows its
/// destruction.
template <class T>
using SourceEvent = std::variant<Changed<T>, Removed<T>, Relisted<T>>;

}  // namespace sliced
