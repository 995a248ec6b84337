#pragma once
// A folder of manifests kept equal to an ObjectStore, by inotify. Files are read on the loop: they are few,
// local and bounded.
//
//   a file is written, moved in ──▶ read ─▶ parses ─▶ its objects are put
//                                     └─▶ does not ─▶ last content stays 2 s, read again ─▶ its objects go, but
//                                         for excludes; where it may have others, one stands in for them that
//                                         cannot be understood
//   a file is deleted, moved out ──▶ 100 ms for a replacement (editors rename the old one away) ─▶ objects go
//   folders come and go, events are lost ──▶ everything is looked at again
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

/// Patience and bounds; the defaults are for a folder that people edit.
struct DirectoryLimits {
  Millis broken_for{2'000};  // a file that does not parse keeps its last content this long
  Millis missing_for{100};   // a file that vanished may be on its way back
  Millis look_again{1'000};  // while the directory is not there, or where it cannot be watched
  Millis look_at_path{
      5'000};  // whether it leads to the same directory, and links in it to the same files: no event tells when
               // what a link leads to is changed, or a folder above renamed
  size_t files_max = 4'096;
  size_t folders_max = 1'024;  // each is a watch, and is read whenever anything moves
  int depth_max = 8;
  /// Of all ResourceSlices, and of all other objects, as JSON text and 1 KiB for each. Of more nothing but
  /// the names is kept; as much again of those, and the directory counts as one that cannot be read.
  size_t bytes_max = 16u << 20;
};

/// Log:     what is wrong with a file, once while it lasts; with an object that is there twice likewise.
/// Memory:  the store's, and of each file where its objects are; no texts of files.
/// Reentry: on_event runs from the loop, never from inside a call; it must not destroy the tree.
/// Files:   *.yaml, *.yml, *.json at any depth; hidden files and folders, editors' backups and links to
///          folders (which is said) are not looked at. A link that leads nowhere or to a folder, a pipe or a device of such a name is
///          a file that cannot be read; a folder that cannot be or is nested too deeply, or more files or folders than
///          there may be, make the directory one: any of them could be an exclude. An object that is in two files is taken from the first path in sort
///          order, with a warning; of DeviceExposurePolicies that differ, and of which one may be an exclude, nobody
///          knows which is meant: that one counts as unreadable.
class DirectoryTree {
 public:
  enum class Event {
    kChanged,   // the store has changes
    kRelisted,  // events were lost; the store is right again, but not every step was seen
    kLost,      // trouble() says why nothing can be read; the store keeps what it has
  };
  using OnEvent = std::function<void(Event)>;

  /// Reads the directory at once, so that the store is filled when the constructor returns (or trouble() is
  /// set).
  DirectoryTree(reactor::Loop& loop, Log& log, std::string directory, std::string default_namespace,
                ObjectStore& store, OnEvent on_event, DirectoryLimits limits = {});
  DirectoryTree(const DirectoryTree&) = delete;
  DirectoryTree& operator=(const DirectoryTree&) = delete;

  /// Why the directory cannot be read at present; what is known of it stays meanwhile.
  const std::optional<Error>& trouble() const { return trouble_; }

  /// The file, relative to the directory, that an object is taken from; "" when there is none.
  std::string file_of(const ObjectKey& key) const;
  /// How many objects a file has, those that another file shadows included.
  size_t objects_in(const std::string& file) const;
  /// Replaces a file as a whole (scratch file, fsync, rename), makes its folder, and takes its objects over:
  /// the store is right afterwards, and the kernel's echo changes nothing.
  Result<Unit> write(const std::string& file, const std::string& text);
  /// The file goes, and its objects with it. Errors: kNotFound, kDenied, kIo.
  Result<Unit> erase(const std::string& file);

 private:
  /// Of objects as they are kept; slices and others have a bound each.
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
    std::optional<Bytes> wanted;  // where there was no room for all of them
    size_t unnamed = 0;           // objects that are not even known by name
    Signature signature;          // of what it leads to, if it is a link
    bool is_link = false;         // no event tells when what it leads to changes
    std::optional<TimePoint> broken_since, missing_since;
    bool unreadable = false;  // it was broken for long enough: its objects are gone
    RateLimitedLog said;      // a look at it is a round
  };
  using Site = std::pair<std::string, size_t>;  // file, index into its objects

  // What the kernel says.
  void start();
  /// Marks what to look at; nothing is read before the turn that follows.
  void on_file_event(const reactor::FileEvent& event);
  void turn_soon();
  /// Everything that was marked since the last turn, then what has waited long enough. One event for all.
  void turn();
  /// The next turn that nobody else will ask for: the end of a file's wait, or a look at what is not watched.
  void schedule();

  // Looking.
  /// Walks the folders. read_all: also files whose signature is that of before.
  void look_at_everything(bool read_all);
  struct Seen {
    std::set<std::string> files;
    size_t folders = 0;
  };
  /// Watches first, then reads: nothing that happens in between is missed.
  void walk(const std::string& folder, int depth, Seen& seen);
  /// False when the folder is not there, or cannot be read: that is trouble. Where the kernel has no more watches (fs.inotify.max_user_watches) it is
  /// looked at from time to time instead.
  bool watch(const std::string& folder);
  /// Whether another directory stands at the path than the one that is watched.
  bool leads_elsewhere() const;
  /// Of a link: what it leads to is another file than the one that was read, or is gone.
  bool leads_elsewhere(const std::string& name, const File& file) const;
  Error too_many(size_t max, const std::string& of_what) const;
  Error too_deep(const std::string& folder) const;
  /// The directory cannot be read, or could not be relied on: kIo for all calls until it can.
  void lose(Error trouble);

  /// Reads one file and takes what it says over, or begins its wait.
  void look_at(const std::string& name);
  void missing(const std::string& name);
  /// holds_policies: it has DeviceExposurePolicies, or nobody knows what it has.
  void broken(const std::string& name, File& file, const YamlProblem& problem, bool holds_policies);
  /// What holds on of a file that cannot be read.
  std::vector<Object> what_may_exclude(const std::string& name, const File& file, bool holds_policies);
  /// Whether the file has been broken for long enough; the first call starts the wait.
  bool has_waited(File& file);
  void look_at_marked();

  // From files to objects.
  static Bytes bytes_of(const std::vector<Object>& objects);
  Bytes bytes_without(const File& file) const;
  /// As text. What there is no room for is there, and cannot be understood: an exclude then holds back.
  std::vector<Object> make_room(const std::string& name, File& file, std::vector<Manifest::Object> objects);
  // For what had none: another file may have become smaller since.
  bool has_room_for(const File& file) const;
  /// A file with objects beyond even their names: any of them could be an exclude, so the directory counts as one
  /// that cannot be read.
  void refuse_what_is_unnamed();
  // What the file says from now on. The store hears of it in settle().
  void take(const std::string& name, File& file, std::vector<Object> objects);
  // The file is gone for good: its objects go, unless another file has them too.
  void drop(const std::string& name);
  /// Brings the store up to date with what the files say now, so that an object that moved between files never
  /// vanishes.
  void settle();
  const ContentPtr& content_at(const Site& site) const;
  std::string place_of(const Site& site) const;  // "DIR/a.yaml:3"
  // Once while it lasts, and whether it is so: files have the object that differ, and one may exclude devices.
  bool report_conflicting(const ObjectKey& key, const std::set<Site>& sites);
  // Once while it lasts: an object that several files have, and which of them counts.
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
  bool unwatched_ = false;  // some folder cannot be watched: look from time to time
  std::optional<Error> trouble_;
  LastMessage trouble_log_;
  size_t folders_ = 0;         // of the last walk
  RateLimitedLog said_links_;  // a walk is a round
  Signature looked_at_;        // of the directory itself
  std::map<std::string, File> files_;
  Bytes bytes_;  // of their objects
  std::map<ObjectKey, std::set<Site>> sites_;
  // Whose files have changed since settle(); those that shadow and were told of; file names to look at.
  std::set<ObjectKey> unsettled_;
  std::set<std::pair<ObjectKey, Site>> shadowed_;
  std::set<ObjectKey> doubtful_;
  std::set<std::string> marked_;
  bool rescan_ = false, overflow_ = false, started_ = false;
  bool is_told_lost_ = false;  // of the trouble that there is; at the start there is nobody to be told
  reactor::Ticket turn_, later_;
};

}  // namespace sliced::kube
