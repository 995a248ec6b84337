#pragma once
// The signal of another program that it has configured the hardware of this node (VFs, MTUs, MAC addresses,
// GUIDs): the annotation of the own pod (pod_signal.h) or a file (file_signal.h).
//
// Loop thread only. REQUIRES: constructor arguments must outlive this object.
#include <functional>
#include <string>

namespace sliced::configured {

/// Called in a turn of its own, not from start(), when is_seen(), awaited() or the failure changes.
using OnChange = std::function<void()>;

class ConfiguredSignal {
 public:
  virtual ~ConfiguredSignal() = default;
  /// Starts; call once.
  virtual void start() = 0;
  /// Returns true once the signal was seen; never reset.
  virtual bool is_seen() const = 0;
  /// Returns what is missing, for messages: "/run/sliced/configured: there is no such file"; "" after the
  /// signal.
  virtual const std::string& awaited() const = 0;
  /// Returns the permanent error with its remedy; "": none.
  virtual const std::string& given_up() const = 0;
};

}  // namespace sliced::configured
