#pragma once
// A sign that the hardware of this node is configured: something that another program does once it has set what it
// sets (VFs, MTUs, MAC addresses, GUIDs). Implemented by the own pod's annotation (pod_sign.h) and by a file
// (file_sign.h); tests step both.
//
// Threads:   the loop's.
// Ownership: what it was made with outlives it. Dropping it ends what is under way.
#include <functional>
#include <string>

namespace sliced::configured {

/// On a turn of its own, never from within start(): whether it is seen, given up, or what is awaited is another
/// than before. May destroy the sign.
using OnChange = std::function<void()>;

class Sign {
 public:
  virtual ~Sign() = default;
  /// Once.
  virtual void start() = 0;
  /// Stays true: a sign that is taken back later was given all the same.
  virtual bool is_seen() const = 0;
  /// What is waited for, for people: "/run/sliced/configured: there is no such file". "" once it is seen.
  virtual const std::string& awaited() const = 0;
  /// Why it will never be seen, with the remedy; "" it may be. Nothing is under way then.
  virtual const std::string& given_up() const = 0;
};

}  // namespace sliced::configured
