#pragma once
// Keeps an ObjectStore equal to a folder of manifests, by inotify. Files are read on the loop thread: they
// are few, local and bounded.
//
//   a file is written, moved in ──▶ read ─▶ valid   ─▶ its objects are stored
//                                      └─▶ invalid ─▶ last content stays 2 s, then read again ─▶ its objects
//                                          are removed, except excludes; if it may contain others, an
//                                          unreadable placeholder is stored
//   a file is deleted, moved out ──▶ after 100 ms (editors rename the old file) its objects are removed
//   folders change, events are lost ──▶ the whole tree is read again
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/directory/directory_files.h"
#include "kube/directory/manifest.h"
#include "kube/directory/object_store.h"
#include "reactor/base/log.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"
#include "reactor/inotify.h"
#include "reactor/scheduler.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::kube {

/// Delays and limits; the defaults are for a folder that people edit.
struct DirectoryLimits {
  Millis broken_for{2'000};      // an invalid file keeps its last content for this long
  Millis missing_for{100};       // a vanished file may be replaced
  Millis retry_interval{1'000};  // while the directory is missing, or cannot be watched
  Millis path_check_interval{
      5'000};  // checks that the path and links lead to the same directory and files: no event reports
               // changes of a link's target, or a renamed parent folder
  size_t files_max = 4'096;
  size_t folders_max = 1'024;  // each is a watch, and is listed at each change
  int depth_max = 8;
  /// Of all ResourceSlices, and of all other objects, as JSON text plus 1 KiB for each. Beyond it only names
  /// are stored, up to the same amount; beyond that the directory counts as unreadable.
  size_t bytes_max = 16u << 20;
};

/// Log:     an error of a file, or a duplicate object, is logged once while it lasts.
/// Memory:  the store, and for each file the places of its objects; no texts of files.
/// Reentry: on_event runs from the loop, never from within a call.
/// Files:   *.yaml, *.yml, *.json at any depth; hidden files and folders, backups of editors and links to
/// folders (with a log line) are ignored. A broken link, a link to a folder, a pipe or a device with such a
/// name is an unreadable file. An unreadable or too deep folder, or too many files or folders, make the
/// directory unreadable, because any of them could contain an exclude. Of an object in two files the first
/// path in sort order counts, with a warning. If DeviceExposurePolicies of one name differ and one may be an
/// exclude, the policy counts as unreadable.
class DirectoryTree {
 public:
  enum class Event {
    kChanged,   // the store has changes
    kRelisted,  // events were lost; the store is correct again, without some intermediate states
    kLost,      // trouble() has the reason; the store keeps its content
  };
  using OnEvent = std::function<void(Event)>;

  /// Reads the directory: the store is filled, or trouble() is set, when the constructor returns.
  DirectoryTree(reactor::Loop& loop, Log& log, std::string directory, std::string default_namespace,
                ObjectStore& store, OnEvent on_event, DirectoryLimits limits = {});
  DirectoryTree(const DirectoryTree&) = delete;
  DirectoryTree& operator=(const DirectoryTree&) = delete;

  /// Returns why the directory cannot be read; the store keeps its content meanwhile.
  const std::optional<Error>& trouble() const { return trouble_; }

  /// Returns the file of an object, relative to the directory; "" if there is none.
  std::string file_of(const ObjectKey& key) const;
  /// Returns the number of objects in a file, including duplicates of another file.
  size_t objects_in(const std::string& file) const;
  /// Replaces a whole file (temporary file, fsync, rename), creates its folder, and updates the store; the
  /// following inotify event changes nothing.
  Result<Unit> write(const std::string& file, const std::string& text);
  /// Removes the file and its objects. Errors: kNotFound, kDenied, kIo.
  Result<Unit> erase(const std::string& file);

 private:
  /// Of stored objects; slices and others have separate limits.
  struct Bytes {
    size_t slices = 0, others = 0;
    size_t& of(const ObjectKey& key) { return key.kind == "ResourceSlice" ? slices : others; }
  };
  struct Object {
    ObjectKey key;
    ContentPtr content;
    int line = 0;
  };
  struct File {
    std::vector<Object> objects;
    std::optional<Bytes> needed;  // if the limit did not suffice for all
    size_t unnamed = 0;           // objects whose names are not stored either
    Signature signature;          // of the target of a link
    bool is_link = false;         // no event reports changes of the target
    std::optional<TimePoint> broken_since, missing_since;
    bool unreadable = false;     // invalid for long enough: its objects were removed
    RateLimitedLog problem_log;  // a look at it is a round
  };
  using Site = std::pair<std::string, size_t>;  // file, index into its objects

  // Events of the kernel.
  void start();
  /// Marks files to read in the next turn.
  void on_file_event(const reactor::FileEvent& event);
  void schedule_processing();
  /// Handles all marks since the last turn, then elapsed waits. At most one event.
  void process_changes();
  /// Schedules the next turn: the end of a file's wait, or a check of a part that is not watched.
  void schedule();

  // Reading.
  /// Walks the folders. read_all: reads files with an unchanged signature, too.
  void rescan(bool read_all);
  struct Scan {
    std::set<std::string> files;
    size_t folders = 0;
  };
  /// Adds watches before reading, so that no change in between is missed.
  void walk(const std::string& folder, int depth, Scan& scan);
  /// Returns false if the folder is missing or unreadable, which is an error. Without free watches
  /// (fs.inotify.max_user_watches) the folder is checked from time to time instead.
  bool watch(const std::string& folder);
  /// Returns true if the path leads to another directory than the watched one.
  bool leads_elsewhere() const;
  /// Returns true if the target of a link is another file than the one that was read, or missing.
  bool leads_elsewhere(const std::string& name, const File& file) const;
  Error too_many(size_t max, const std::string& noun) const;
  Error too_deep(const std::string& folder) const;
  /// The directory is unreadable or incomplete: all calls are kIo until that ends.
  void fail(Error trouble);

  /// Reads one file and stores its objects, or starts its wait.
  void refresh(const std::string& name);
  void missing(const std::string& name);
  /// holds_policies: the file has, or may have, DeviceExposurePolicies.
  void broken(const std::string& name, File& file, const YamlProblem& problem, bool holds_policies);
  /// Returns the objects of an unreadable file that remain.
  std::vector<Object> possible_excludes(const std::string& name, const File& file, bool holds_policies);
  /// Returns true if the file has been invalid for long enough; the first call starts the wait.
  bool has_waited(File& file);
  void refresh_marked();

  // Objects of files.
  static Bytes bytes_of(const std::vector<Object>& objects);
  Bytes bytes_without(const File& file) const;
  /// Returns the objects as text. Objects beyond the limit become unreadable placeholders: an exclude then
  /// withholds devices.
  std::vector<Object> make_room(const std::string& name, File& file, std::vector<Manifest::Object> objects);
  // Returns true if there is room now, as another file may have become smaller.
  bool has_room_for(const File& file) const;
  /// If even the names of a file's objects exceed the limit, the directory counts as unreadable, because any
  /// of them could be an exclude.
  void reject_unnamed();
  // Sets the objects of a file. update_store() updates the store.
  void replace_objects(const std::string& name, File& file, std::vector<Object> objects);
  // Removes a file and those of its objects that no other file has.
  void drop(const std::string& name);
  /// Updates the store from the files, so that an object that moves between files never disappears.
  void update_store();
  const ContentPtr& content_at(const Site& site) const;
  std::string place_of(const Site& site) const;  // "DIR/a.yaml:3"
  // Returns true if several files have different versions of the object, and one may exclude devices. Logs it
  // once.
  bool report_conflicting(const ObjectKey& key, const std::set<Site>& sites);
  // Logs once that several files have the object, and which counts.
  void report_duplicates(const ObjectKey& key, const std::set<Site>& sites);
  void log_file(Level level, File& file, const std::string& name, std::string_view message,
                const YamlProblem& problem);
  std::string full(const std::string& relative) const;

  reactor::Loop& loop_;
  reactor::Scheduler& scheduler_;
  Log& log_;
  const std::string directory_, default_namespace_;
  ObjectStore& store_;
  const OnEvent on_event_;
  const DirectoryLimits limits_;

  std::unique_ptr<reactor::Inotify> inotify_;
  bool unwatched_ = false;  // some folder cannot be watched: check from time to time
  std::optional<Error> trouble_;
  LastMessage trouble_log_;
  size_t folders_ = 0;       // of the last walk
  RateLimitedLog link_log_;  // a walk is a round
  Signature looked_at_;      // of the directory itself
  std::map<std::string, File> files_;
  Bytes bytes_;  // of their objects
  std::map<ObjectKey, std::set<Site>> sites_;
  // Objects whose files changed since update_store(); reported duplicates; file names to read.
  std::set<ObjectKey> changed_keys_;
  std::set<std::pair<ObjectKey, Site>> shadowed_;
  std::set<ObjectKey> doubtful_;
  std::set<std::string> marked_;
  bool rescan_ = false, overflow_ = false, started_ = false;
  bool is_loss_reported_ =
      false;  // the current trouble was reported; not at the start, before there are watches
  reactor::Ticket scheduled_, later_;
};

}  // namespace sliced::kube
