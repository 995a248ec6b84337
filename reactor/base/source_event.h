#pragma once
// What every source (cluster watch, udev, netlink, timer rescan) says. Start-up, ENOBUFS, 410 Gone and
// reconnect are one event that carries the whole set, so that no consumer can forget one of them.
#include <string>
#include <variant>
#include <vector>

namespace sliced {

/// T has an Id, and says with it whom it is about. One that was not known before has come to be.
template <class T>
struct Changed {  // complete facts, never a delta
  T now;
};
/// It is not there any more. Of what was not known before this says nothing new.
template <class T>
struct Removed {
  typename T::Id id;
};
/// The initial sync of every source, and a resync whenever something may have been missed: who hears it forgets
/// what it knew, but for what is `kept`. why: for the log.
template <class T>
struct Relisted {  // replaces everything known before
  std::vector<T> all;
  std::string why;
  std::vector<typename T::Id> kept = {};  // known before and not in the list, but not to be let go yet
};
/// One of three; sources call their receiver with them on the loop's thread.
/// Events of one source come in order. A source says nothing before its first Relisted, and nothing after its
/// owner has dropped it.
template <class T>
using SourceEvent = std::variant<Changed<T>, Removed<T>, Relisted<T>>;

}  // namespace sliced
