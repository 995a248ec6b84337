#include "kube/directory/directory_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kube/directory/directory_files.h"
#include "kube/objects/kinds.h"
#include "reactor/base/text.h"
#include "reactor/loop.h"

namespace sliced::kube {

namespace {

using reactor::FileEvent;

// Memory of its name in all maps.
constexpr size_t kObjectBytes = 1'024;

}  // namespace

DirectoryTree::DirectoryTree(reactor::Loop& loop, Log& log, std::string directory,
                             std::string default_namespace, ObjectStore& store, OnEvent on_event,
                             DirectoryLimits limits)
    : loop_(loop),
      scheduler_(loop.scheduler()),
      log_(log),
      directory_(std::move(directory)),
      default_namespace_(std::move(default_namespace)),
      store_(store),
      on_event_(std::move(on_event)),
      limits_(limits) {
  start();
  reject_unnamed();
  update_store();
  schedule();
  started_ = true;
  is_loss_reported_ = trouble_.has_value();
}

std::string DirectoryTree::full(const std::string& relative) const {
  return relative.empty() ? directory_ : directory_ + "/" + relative;
}

/// Opens the watch if there is none, and reads everything.
void DirectoryTree::start() {
  if (!inotify_) {
    auto opened = reactor::Inotify::open(loop_, [this](const FileEvent& event) { on_file_event(event); });
    if (opened.ok()) {
      inotify_ = std::move(*opened);
    } else if (!std::exchange(unwatched_, true)) {
      log_.warning("directory cannot be watched: polling it", {{"why", opened.error().what}});
    }
  }
  rescan(/*read_all=*/true);
  if (!trouble_) {
    log_.info("directory read",
              {{"directory", directory_}, {"files", files_.size()}, {"objects", sites_.size()}});
  }
}

// Events of the kernel.
// --------------------------------------------------------------------------------------------

void DirectoryTree::on_file_event(const FileEvent& event) {
  const bool root_gone = event.kind == FileEvent::Kind::kDirectoryGone && event.directory == directory_;
  if (event.kind == FileEvent::Kind::kOverflow) {
    overflow_ = true;
  } else if (root_gone || event.is_directory || event.name.starts_with("..")) {
    rescan_ = true;  // "..data" is the link that ConfigMap volumes swap
  } else if (is_manifest_name(event.name)) {
    const std::string folder =
        event.directory == directory_ ? "" : event.directory.substr(directory_.size() + 1) + "/";
    marked_.insert(folder + event.name);
  } else {
    return;
  }
  schedule_processing();
}

void DirectoryTree::schedule_processing() {
  if (!scheduled_) scheduled_ = scheduler_.after(Millis{0}, [this] { process_changes(); });
}

void DirectoryTree::process_changes() {
  scheduled_.reset();
  const bool overflow = std::exchange(overflow_, false), had_trouble = trouble_.has_value();
  const uint64_t before = store_.version();
  if (overflow || std::exchange(rescan_, false) || had_trouble || unwatched_ || leads_elsewhere())
    rescan(overflow);
  if (!trouble_) refresh_marked();
  reject_unnamed();
  update_store();
  schedule();
  if (trouble_) {
    // write() may have set trouble before this turn.
    if (!std::exchange(is_loss_reported_, true)) on_event_(Event::kLost);
    return;
  }
  is_loss_reported_ = false;
  if (had_trouble) {
    trouble_log_.forget();
    log_.info("directory readable again", {{"directory", directory_}});
  }
  if (overflow) {
    log_.warning("file events lost: directory read again", {{"directory", directory_}});
    return on_event_(Event::kRelisted);
  }
  if (store_.version() != before) on_event_(Event::kChanged);
}

void DirectoryTree::refresh_marked() {
  std::vector<std::string> ready;
  for (const auto& name : std::exchange(marked_, {})) refresh(name);
  for (const auto& [name, file] : files_) {
    const auto waited = [&](const auto& since, Millis time) {
      return since && scheduler_.now() - *since >= time;
    };
    if (waited(file.missing_since, limits_.missing_for) || waited(file.broken_since, limits_.broken_for) ||
        (file.needed && has_room_for(file)) || (file.is_link && leads_elsewhere(name, file)))
      ready.push_back(name);
  }
  for (const auto& name : ready) refresh(name);
}

void DirectoryTree::schedule() {
  std::optional<TimePoint> ready;
  const auto by = [&](TimePoint at) { ready = ready ? std::min(*ready, at) : at; };
  for (const auto& [name, file] : files_) {
    if (trouble_) break;
    if (file.missing_since) by(*file.missing_since + limits_.missing_for);
    if (file.broken_since) by(*file.broken_since + limits_.broken_for);
  }
  by(scheduler_.now() + (trouble_ || unwatched_ ? limits_.retry_interval : limits_.path_check_interval));
  later_.reset();
  later_ =
      scheduler_.after(std::max(*ready - scheduler_.now(), Millis{1}), [this] { schedule_processing(); });
}

// Reading.
// ---------------------------------------------------------------------------------------------------------

bool DirectoryTree::watch(const std::string& folder) {
  if (!inotify_) return true;
  auto watched = inotify_->watch(full(folder));
  if (watched.ok()) return true;
  const Errc code = watched.error().code;
  if (code == Errc::kTooLarge) {
    if (!std::exchange(unwatched_, true))
      log_.warning("subdirectory cannot be watched: polling it", {{"why", watched.error().what}});
    return true;
  }
  const bool is_gone = code == Errc::kNotFound || code == Errc::kInvalid;
  if (folder.empty() || !is_gone) fail(std::move(watched.error()));
  return false;
}

void DirectoryTree::fail(Error trouble) {
  trouble.code = Errc::kIo;
  if (trouble_log_.is_new(trouble.what)) {
    log_.error("directory cannot be read: keeping its last content",
               {{"directory", directory_}, {"why", trouble.what}});
  }
  trouble_ = std::move(trouble);
}

bool DirectoryTree::leads_elsewhere() const {
  struct stat status{};
  if (trouble_ || ::stat(directory_.c_str(), &status) != 0) return !trouble_;
  return signature_of(status).inode != looked_at_.inode || signature_of(status).device != looked_at_.device;
}

bool DirectoryTree::leads_elsewhere(const std::string& name, const File& file) const {
  struct stat status{};
  const bool is_there = ::stat(full(name).c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return is_there ? file.signature != signature_of(status) : !file.unreadable && !file.broken_since;
}

void DirectoryTree::rescan(bool read_all) {
  Scan scan;
  struct stat root{};
  if (::stat(directory_.c_str(), &root) == 0) looked_at_ = signature_of(root);
  if (!watch("")) return;
  if (auto names = names_in(directory_); !names.ok()) return fail(std::move(names.error()));
  trouble_.reset();
  walk("", 1, scan);
  link_log_.end_round();
  if (trouble_) return;
  folders_ = scan.folders;
  for (const auto& name : scan.files) {
    struct stat status{};
    const auto known = files_.find(name);
    const bool readable = ::stat(full(name).c_str(), &status) == 0;
    if (read_all || !readable || known == files_.end() || known->second.signature != signature_of(status))
      refresh(name);
  }
  std::vector<std::string> gone;
  for (const auto& [name, file] : files_) {
    if (!scan.files.contains(name)) gone.push_back(name);
  }
  for (const auto& name : gone) missing(name);
}

void DirectoryTree::walk(const std::string& folder, int depth, Scan& scan) {
  if (!folder.empty() && ++scan.folders > limits_.folders_max)
    return fail(too_many(limits_.folders_max, "folders"));
  if (!folder.empty() && !watch(folder)) return;
  auto names = names_in(full(folder));
  if (!names.ok()) {
    if (names.error().code != Errc::kNotFound) fail(std::move(names.error()));
    return;
  }
  for (const auto& name : *names) {
    if (name.starts_with('.')) continue;
    const std::string path = folder.empty() ? name : folder + "/" + name;
    struct stat status{};
    auto sort = sort_of(full(path), status);
    if (!sort.ok()) return fail(std::move(sort.error()));
    if (*sort == Sort::kFolder && depth >= limits_.depth_max) return fail(too_deep(path));
    if (*sort == Sort::kFolder) walk(path, depth + 1, scan);
    if (trouble_) return;  // the first error suffices: nothing of the directory is used
    if (*sort == Sort::kOther && !is_manifest_name(name) && S_ISDIR(status.st_mode) &&
        link_log_.note(full(path)))
      log_.warning("symbolic link to a directory ignored", {{"link", full(path)}});
    if ((*sort != Sort::kFile && *sort != Sort::kOther) || !is_manifest_name(name)) continue;
    if (scan.files.size() >= limits_.files_max) return fail(too_many(limits_.files_max, "files"));
    scan.files.insert(path);
  }
}

// Any omitted object could be an exclude.
Error DirectoryTree::too_many(size_t max, const std::string& noun) const {
  return {Errc::kTooLarge, in_quotes(directory_) + " has room for " + std::to_string(max) + " " + noun +
                               ", and for no more; remove some, or keep several objects in one"};
}
Error DirectoryTree::too_deep(const std::string& folder) const {
  return {Errc::kTooLarge, in_quotes(full(folder)) + " is nested deeper than " +
                               std::to_string(limits_.depth_max) + " folders; move it up, or out"};
}

void DirectoryTree::refresh(const std::string& name) {
  struct stat status{};
  auto sort = sort_of(full(name), status);
  if (!sort.ok()) return fail(std::move(sort.error()));
  if (*sort == Sort::kNone || *sort == Sort::kFolder) return missing(name);
  if (!files_.contains(name) && files_.size() >= limits_.files_max)
    return fail(too_many(limits_.files_max, "files"));
  auto text = *sort == Sort::kFile
                  ? read_manifest(full(name))
                  : Error{Errc::kInvalid,
                          "is not a file: a link that leads nowhere or to a folder, a pipe or a device"};
  if (*sort == Sort::kFile && !text.ok() && text.error().code == Errc::kNotFound) return missing(name);
  File& file = files_[name];
  file.missing_since.reset();
  file.signature = signature_of(status);
  file.is_link = is_link(full(name));
  if (!text.ok()) return broken(name, file, {0, text.error().what}, /*holds_policies=*/true);
  Manifest manifest = decode_manifest(*text, default_namespace_);
  if (!manifest.problems.empty())
    return broken(name, file, manifest.problems.front(), mentions_exposure_policy(*text));
  // An editor may empty the file shortly before it writes it.
  if (trim(*text).empty() && !file.objects.empty() && !has_waited(file)) return;
  file.broken_since.reset();
  if (std::exchange(file.unreadable, false)) log_.info("file readable again", {{"file", full(name)}});
  for (const auto& remark : manifest.remarks) log_file(Level::kWarning, file, name, "object ignored", remark);
  if (const size_t more = manifest.remarks.more(); more > 0)
    log_file(Level::kWarning, file, name, "objects ignored", {0, and_more(more, "object")});
  std::vector<Object> objects = make_room(name, file, std::move(manifest.objects));
  if (manifest.possible_exclude) {
    Manifest::Object placeholder = placeholder_for(full(name), "an object in it is invalid");
    objects.push_back({std::move(placeholder.key), content_of(std::move(placeholder.value)), 0});
    log_file(Level::kError, file, name, "ignored object may exclude devices: no device is added",
             {manifest.possible_exclude->line, "possible exclude: " + manifest.possible_exclude->what});
  }
  file.problem_log.end_round();
  replace_objects(name, file, std::move(objects));
}

/// A file that was never read leaves no trace here.
void DirectoryTree::missing(const std::string& name) {
  const auto at = files_.find(name);
  if (at == files_.end()) return;
  File& file = at->second;
  if (!file.missing_since) file.missing_since = scheduler_.now();
  if (scheduler_.now() - *file.missing_since >= limits_.missing_for) drop(name);
}

void DirectoryTree::broken(const std::string& name, File& file, const YamlProblem& problem,
                           bool holds_policies) {
  // At the start there is no earlier content, and no writer to wait for.
  if (started_ && !file.unreadable && !has_waited(file)) return;
  file.broken_since.reset();
  file.unreadable = true;
  log_file(Level::kError, file, name, "file cannot be read: its objects are ignored, except excludes",
           problem);
  file.problem_log.end_round();
  file.needed.reset();
  file.unnamed = 0;
  replace_objects(name, file, possible_excludes(name, file, holds_policies));
}

std::vector<DirectoryTree::Object> DirectoryTree::possible_excludes(const std::string& name, const File& file,
                                                                    bool holds_policies) {
  std::vector<Object> out;
  for (const Object& object : file.objects)
    if (may_exclude(object.key, *object.content)) out.push_back(object);
  if (!holds_policies) return out;  // existing placeholders remain
  Manifest::Object placeholder = placeholder_for(full(name), "the file cannot be read");
  std::erase_if(out, [&](const Object& object) { return object.key == placeholder.key; });
  out.push_back({std::move(placeholder.key), content_of(std::move(placeholder.value)), 0});
  return out;
}

bool DirectoryTree::has_waited(File& file) {
  if (!file.broken_since) file.broken_since = scheduler_.now();
  return scheduler_.now() - *file.broken_since >= limits_.broken_for;
}

/// Logs a problem once while it lasts.
void DirectoryTree::log_file(Level level, File& file, const std::string& name, std::string_view message,
                             const YamlProblem& problem) {
  const std::string place = full(name) + (problem.line > 0 ? ":" + std::to_string(problem.line) : "");
  if (!file.problem_log.note(place + " " + problem.what)) return;
  log_.line(level, message, {{"file", place}, {"why", problem.what}});
}

// ---- from files to objects

DirectoryTree::Bytes DirectoryTree::bytes_of(const std::vector<Object>& objects) {
  Bytes bytes;
  for (const Object& object : objects) bytes.of(object.key) += kObjectBytes + object.content->size();
  return bytes;
}

DirectoryTree::Bytes DirectoryTree::bytes_without(const File& file) const {
  const Bytes own = bytes_of(file.objects);
  return {bytes_.slices - own.slices, bytes_.others - own.others};
}

std::vector<DirectoryTree::Object> DirectoryTree::make_room(const std::string& name, File& file,
                                                            std::vector<Manifest::Object> objects) {
  Bytes all = bytes_without(file), needed;
  size_t omitted = 0;
  std::vector<Object> out;
  for (Manifest::Object& object : objects) {
    const int line = object.value.line();
    ContentPtr content = content_of(std::move(object.value));
    object.value = Json();
    size_t& bytes = all.of(object.key);
    needed.of(object.key) += kObjectBytes + content->size();
    if (bytes + kObjectBytes + content->size() > limits_.bytes_max) {
      ++omitted;
      content = name_alone(*content, "the objects of the directory are too large together");
    }
    bytes += kObjectBytes + content->size();
    if (bytes <= 2 * limits_.bytes_max) out.push_back({std::move(object.key), std::move(content), line});
  }
  file.needed = omitted > 0 ? std::optional(needed) : std::nullopt;
  file.unnamed = objects.size() - out.size();
  if (omitted > 0)
    log_file(Level::kError, file, name, "too many objects in the directory: further ones are invalid",
             {0, std::to_string(omitted) + " of " + std::to_string(objects.size()) +
                     " objects; all of a directory may have " + std::to_string(limits_.bytes_max) +
                     " bytes; remove some, or make them smaller"});
  return out;
}

void DirectoryTree::reject_unnamed() {
  if (trouble_) return;
  for (const auto& [name, file] : files_)
    if (file.unnamed > 0)
      return fail({Errc::kTooLarge,
                   in_quotes(full(name)) + " has " + std::to_string(file.unnamed) +
                       " objects more than there is room for: ResourceSlices, and other objects, may have " +
                       std::to_string(limits_.bytes_max / kObjectBytes) + " objects of " +
                       std::to_string(kObjectBytes) +
                       " bytes each in a directory, and as many again that are known by their names alone; "
                       "remove some, or split the directory"});
}

bool DirectoryTree::has_room_for(const File& file) const {
  const Bytes others = bytes_without(file);
  return others.slices + file.needed->slices <= limits_.bytes_max &&
         others.others + file.needed->others <= limits_.bytes_max;
}

void DirectoryTree::replace_objects(const std::string& name, File& file, std::vector<Object> objects) {
  const auto mark = [&](bool present) {
    for (size_t i = 0; i < file.objects.size(); ++i) {
      const ObjectKey& key = file.objects[i].key;
      changed_keys_.insert(key);
      if (present) {
        sites_[key].insert({name, i});
      } else if (auto at = sites_.find(key); at != sites_.end()) {
        at->second.erase({name, i});
        if (at->second.empty()) sites_.erase(at);
      }
    }
  };
  mark(false);
  const Bytes others = bytes_without(file), before = bytes_, now = bytes_of(objects);
  file.objects = std::move(objects);
  bytes_ = {others.slices + now.slices, others.others + now.others};
  mark(true);
  const bool is_less = bytes_.slices < before.slices || bytes_.others < before.others;
  if (is_less && std::any_of(files_.begin(), files_.end(),
                             [](const auto& one) { return one.second.needed.has_value(); }))
    schedule_processing();
}

void DirectoryTree::drop(const std::string& name) {
  const auto at = files_.find(name);
  replace_objects(name, at->second, {});
  files_.erase(at);
}

void DirectoryTree::update_store() {
  for (const auto& key : std::exchange(changed_keys_, {})) {
    const auto at = sites_.find(key);
    const std::set<Site> sites = at == sites_.end() ? std::set<Site>() : at->second;
    const bool is_ambiguous = report_conflicting(key, sites);
    if (!is_ambiguous) report_duplicates(key, sites);
    if (sites.empty()) {
      if (store_.remove(key)) log_.debug("object deleted", {{"object", describe(key)}});
      continue;
    }
    const ContentPtr& first = content_at(*sites.begin());
    if (store_.put(key, is_ambiguous ? name_alone(*first, "it is there twice") : first))
      log_.debug("object read", {{"object", describe(key)}, {"file", full(sites.begin()->first)}});
  }
}

const ContentPtr& DirectoryTree::content_at(const Site& site) const {
  return files_.at(site.first).objects[site.second].content;
}

std::string DirectoryTree::place_of(const Site& site) const {
  return full(site.first) + ":" + std::to_string(files_.at(site.first).objects[site.second].line);
}

bool DirectoryTree::report_conflicting(const ObjectKey& key, const std::set<Site>& sites) {
  const auto differs = [&](const Site& site) { return *content_at(site) != *content_at(*sites.begin()); };
  const auto excludes = [&](const Site& site) { return may_exclude(key, *content_at(site)); };
  const auto other = std::find_if(sites.begin(), sites.end(), differs);
  if (other == sites.end() || std::none_of(sites.begin(), sites.end(), excludes)) {
    doubtful_.erase(key);
    return false;
  }
  if (doubtful_.insert(key).second)
    log_.error(
        "conflicting definitions of an object that may exclude devices: neither is used, no device is added, earlier excludes remain",
        {{"object", describe(key)}, {"file", place_of(*sites.begin())}, {"other", place_of(*other)}});
  return true;
}

void DirectoryTree::report_duplicates(const ObjectKey& key, const std::set<Site>& sites) {
  std::erase_if(shadowed_, [&](const auto& one) { return one.first == key && !sites.contains(one.second); });
  for (auto site = sites.begin(); site != sites.end(); ++site) {
    if (site == sites.begin() || !shadowed_.insert({key, *site}).second) continue;
    log_.warning(
        "duplicate object: the first file is used",
        {{"object", describe(key)}, {"file", place_of(*site)}, {"counts", place_of(*sites.begin())}});
  }
}

std::string DirectoryTree::file_of(const ObjectKey& key) const {
  const auto at = sites_.find(key);
  return at == sites_.end() ? "" : at->second.begin()->first;
}

size_t DirectoryTree::objects_in(const std::string& file) const {
  const auto at = files_.find(file);
  return at == files_.end() ? 0 : at->second.objects.size();
}

}  // namespace sliced::kube
