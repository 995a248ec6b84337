#pragma once
// The slices that the API server holds, from two sources: the watch, and the answers to our writes, which may
// be newer. Pure: time is a parameter.
//
// A watch delivers in resourceVersion order. So events about an object between a write's answer and the event
// of that write are older than the write and are ignored; later events are newer. (resourceVersions of one
// kind are comparable as integers: KEP-5504.)
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
  /// A list may come from a cache that is older than our write. For this time the answer to the write takes
  /// precedence.
  static constexpr Millis kListLagMax{1'500};

  /// Applies an event of the watch. Returns true if slices() changed.
  bool on_event(const SourceEvent<kube::ResourceSlice>& event, TimePoint now);
  /// The answer to our create or update. No effect if the watch has shown this version and its deletion.
  void on_written(kube::ResourceSlice stored);
  /// The answer to a GET. Ignored if the watch has shown a newer version.
  void on_stored(kube::ResourceSlice stored);
  /// The answer to our delete of that version. No effect if the watch has shown a newer version: the object
  /// was re-created.
  void on_delete_succeeded(const std::string& name, const std::string& resource_version);
  /// The API server answered 404 to a GET.
  void on_not_found(const std::string& name);

  /// Replaces equal entries by these objects, so that memory holds them once. entries: ascending by name.
  void share(const std::vector<kube::DevicePtr>& entries);
  /// The same for one slice.
  void share(const std::vector<kube::DevicePtr>& entries, const std::string& name);

  const ObservedSlices& slices() const { return slices_; }
  /// See Publisher::find_written().
  const kube::ResourceSlice* find_written(const std::string& name, const std::string& uid,
                                          const std::string& resource_version) const;
  bool listed() const { return listed_; }
  /// Returns when expire_answers() must be called next; nullopt if no answer takes precedence over a list.
  std::optional<TimePoint> next_deadline() const;
  /// Drops answers that took precedence over a list for kListLagMax: the list's content, or absence, replaces
  /// them. Returns true if slices() changed.
  bool expire_answers(TimePoint now);

 private:
  struct UnconfirmedWrite {  // a write that the watch has not shown yet
    int64_t version = 0;     // of the stored object; for a delete, of the object deleted
    bool deleted = false;
    std::optional<TimePoint> expires_at;      // set by a relist that does not show it
    std::optional<kube::ResourceSlice> list;  // content in that list; nullopt: absent
  };
  bool put(const kube::ResourceSlice& slice);
  static void share(const std::vector<kube::DevicePtr>& entries, kube::ResourceSlice& slice);
  bool erase(const std::string& name);

  ObservedSlices slices_;
  std::map<std::string, UnconfirmedWrite> unconfirmed_;
  int64_t newest_ = 0;  // newest version that the watch has shown since the last list
  bool listed_ = false;
};

}  // namespace sliced::publishers
