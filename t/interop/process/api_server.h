#pragma once
// An API server as small as a test of a whole process needs: it serves the objects that it is given as lists
// and watches, keeps ResourceSlices, and can change an object under open watches. Plain HTTP/1.1 on
// 127.0.0.1, a thread a connection. Objects are made while they are sent, so that a set of any size costs
// nothing here.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace sliced::process {

/// `count` objects of a plural, made one by one. Each is JSON with metadata.name and
/// metadata.resourceVersion.
struct ObjectSet {
  size_t count = 0;
  std::function<std::string(size_t index)> make;
};

class ApiServer {
 public:
  /// has_watch_list: false answers 400 to watches that ask for initial events.
  explicit ApiServer(bool has_watch_list);
  ~ApiServer();

  uint16_t port() const;
  /// What a list of the plural is, before anybody asks.
  void serve(const std::string& plural, ObjectSet set);
  /// As somebody else has written it, before anybody asks. All of one driver.
  void hold_slice(const std::string& driver, const std::string& name, std::string text);
  /// Tells all open watches of the plural: {"type":type,"object":object}, the object with a new resourceVersion. Returns how
  /// many there are.
  size_t tell(const std::string& plural, const std::string& type, const std::string& object);

  /// Whether the names of all devices in the stored slices are these, and none is held.
  bool has_devices(const std::set<std::string>& wanted) const;
  std::set<std::string> devices() const;
  /// Every device that was ever in a slice.
  std::set<std::string> devices_ever() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sliced::process
