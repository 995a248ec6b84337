#pragma once
// What the API server holds of ours, as the newest of two witnesses: the watch, and the answers to our own
// writes, which may be ahead of it. Pure: time is a parameter.
//
// A watch delivers in resourceVersion order. So between a write's answer and the event that shows that write,
// whatever the watch says about the object is older than the write and is ignored; what follows that event is
// newer and counts, however soon. (resourceVersions of one kind are comparable as integers: KEP-5504.)
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kube/objects/resource_slice.h"
#include "publishers/diff_pool.h"
#include "reactor/base/source_event.h"
#include "reactor/base/time.h"

namespace sliced::publishers {

class SliceCache {
 public:
  /// After a relist that does not show a write of ours, how long the answer is believed over the list (which
  /// may have come from a cache behind the write).
  static constexpr Millis kListLagMax{1'500};

  /// An event of the watch. Returns true when what is known changed.
  bool on_event(const SourceEvent<kube::ResourceSlice>& event, TimePoint now);
  /// Our own create or update was answered with this object. Where the watch has told of that and of its end, this
  /// changes nothing.
  void on_written(kube::ResourceSlice stored);
  /// It was looked at, and this is what stands there.
  void on_stored(kube::ResourceSlice stored);
  /// Our own delete of that version was answered. Where the watch has told of a newer one, somebody has made it anew, and this
  /// changes nothing.
  void on_erased(const std::string& name, const std::string& resource_version);
  /// The object turned out not to exist.
  void on_deleted(const std::string& name);

  /// Entries that are equal to one of these are that one from now on, so that memory holds them once.
  /// entries: by name.
  void share(const std::vector<kube::DevicePtr>& entries);
  /// The same of one slice alone, after an event about it.
  void share(const std::vector<kube::DevicePtr>& entries, const std::string& name);

  const ObservedSlices& slices() const { return slices_; }
  bool listed() const { return listed_; }
  /// When believing an unconfirmed answer ends; call settle() then.
  std::optional<TimePoint> next_deadline() const;
  bool settle(TimePoint now);

 private:
  struct Own {            // a write whose event the watch has not shown yet
    int64_t version = 0;  // of the stored object; for a delete, of the object deleted
    bool deleted = false;
    std::optional<TimePoint> give_up;         // set by a relist that does not show it
    std::optional<kube::ResourceSlice> list;  // what that relist showed instead; nullopt: nothing
  };
  bool put(const kube::ResourceSlice& slice);
  static void share(const std::vector<kube::DevicePtr>& entries, kube::ResourceSlice& slice);
  bool erase(const std::string& name);

  ObservedSlices slices_;
  std::map<std::string, Own> own_;
  int64_t told_ = 0;  // the newest version of which the watch has told since the last list
  bool listed_ = false;
};

}  // namespace sliced::publishers
