#include "reactor/durable_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "reactor/descriptor.h"

namespace sliced::reactor {
namespace {

constexpr unsigned kDirectoryMode = 0755;

Error failed(const std::string& step, const std::string& path) {
  const int error = errno;
  const Errc code = error == ENOENT                                       ? Errc::kNotFound
                    : error == EACCES || error == EPERM || error == EROFS ? Errc::kDenied
                                                                          : Errc::kIo;
  return {code, step + " " + path + ": " + std::strerror(error)};
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string temporary_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, name) + "." + path.substr(name) + ".tmp";
}

Result<Unit> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) == 0 || errno == EEXIST) return Unit{};
  if (errno != ENOENT || path == "." || path == "/") return failed("create directory", path);
  if (auto parent = make_directory(directory_of(path)); !parent) return parent;
  if (::mkdir(path.c_str(), kDirectoryMode) == 0 || errno == EEXIST) return Unit{};
  return failed("create directory", path);
}

Result<Unit> sync_directory(const std::string& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return failed("open directory", path);
  if (::fsync(directory.get()) != 0) return failed("sync directory", path);
  return Unit{};
}

// Writes to the kernel's page cache, not yet to the disk.
Result<Descriptor> write_temporary(const std::string& path, std::string_view text, unsigned mode) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed("remove", path);
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file) return failed("create", path);
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("write", path);
    text.remove_prefix(static_cast<size_t>(written));
  }
  // Independent of the umask: a container runtime reads some of these files.
  if (::fchmod(file.get(), mode) != 0) return failed("chmod", path);
  return file;
}

using FileSets = std::vector<std::vector<DurableFile>>;

// A temporary file: the last one of all sets with its path.
struct TemporaryFile {
  const DurableFile* file = nullptr;
  std::set<size_t> sets;  // that have the path
  Descriptor temporary;
};

std::vector<TemporaryFile> last_of_each(const FileSets& sets) {
  std::vector<TemporaryFile> out;
  std::map<std::string_view, size_t> places;
  for (size_t set = 0; set < sets.size(); ++set)
    for (const DurableFile& file : sets[set]) {
      const auto [place, is_new] = places.emplace(file.path, out.size());
      if (is_new) out.emplace_back();
      TemporaryFile& one = out[place->second];
      one.file = &file;
      one.sets.insert(set);
    }
  return out;
}

Result<Unit> write_temporary(TemporaryFile& one) {
  const DurableFile& file = *one.file;
  if (auto made = make_directory(directory_of(file.path)); !made) return made;
  auto written = write_temporary(temporary_of(file.path), file.text, file.mode);
  if (!written) return std::move(written.error());
  one.temporary = *std::move(written);
  // A hint: where it is not known, the fsync that follows does it all.
  (void)::sync_file_range(one.temporary.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  return Unit{};
}

}  // namespace

std::vector<Result<Unit>> write_each_durably(const FileSets& sets) {
  std::vector<Result<Unit>> results(sets.size(), Unit{});
  std::vector<TemporaryFile> files = last_of_each(sets);
  const auto is_wanted = [&](const TemporaryFile& one) {
    return std::any_of(one.sets.begin(), one.sets.end(), [&](size_t set) { return results[set].ok(); });
  };
  const auto note = [&](const TemporaryFile& one, const Result<Unit>& result) {
    for (const size_t set : one.sets)
      if (!result && results[set]) results[set] = result;
  };
  for (TemporaryFile& one : files)
    if (is_wanted(one)) note(one, write_temporary(one));
  for (const TemporaryFile& one : files)
    if (is_wanted(one) && ::fsync(one.temporary.get()) != 0)
      note(one, failed("sync", temporary_of(one.file->path)));
  std::map<std::string, std::vector<const TemporaryFile*>> by_directory;
  for (const TemporaryFile& one : files) {
    const std::string& path = one.file->path;
    const std::string temporary = temporary_of(path);
    if (!is_wanted(one)) {
      ::unlink(temporary.c_str());
    } else if (::rename(temporary.c_str(), path.c_str()) != 0) {
      note(one, failed("rename into", path));
      ::unlink(temporary.c_str());
    } else {
      by_directory[directory_of(path)].push_back(&one);
    }
  }
  for (const auto& [directory, named] : by_directory)
    if (const auto synced = sync_directory(directory); !synced)
      for (const TemporaryFile* one : named) note(*one, synced);
  return results;
}

Result<Unit> write_durably(const std::vector<DurableFile>& files) {
  return write_each_durably({files}).front();
}

Result<Unit> write_durably(const std::string& path, std::string_view text, unsigned mode) {
  return write_durably({{path, std::string(text), mode}});
}

Result<Unit> write_whole(const std::string& path, std::string_view text, unsigned mode) {
  if (auto made = make_directory(directory_of(path)); !made) return made;
  const std::string temporary = temporary_of(path);
  auto written = write_temporary(temporary, text, mode);
  if (!written) return std::move(written.error());
  if (::rename(temporary.c_str(), path.c_str()) == 0) return Unit{};
  const Error error = failed("rename into", path);
  ::unlink(temporary.c_str());
  return error;
}

Result<Unit> remove_durably(const std::string& path) {
  bool is_removed = false;
  for (const std::string& one : {temporary_of(path), path}) {
    if (::unlink(one.c_str()) == 0)
      is_removed = true;
    else if (errno != ENOENT && errno != ENOTDIR)
      return failed("remove", one);
  }
  return is_removed ? sync_directory(directory_of(path)) : Result<Unit>(Unit{});
}

Result<size_t> remove_temporaries(const std::string& directory,
                                  const std::function<bool(std::string_view)>& is_ours) {
  constexpr std::string_view kEnd = ".tmp";
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), &::closedir);
  if (open == nullptr) return errno == ENOENT ? Result<size_t>(size_t{0}) : failed("list", directory);
  std::vector<std::string> found;
  errno = 0;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name.size() > 1 + kEnd.size() && name.starts_with('.') && name.ends_with(kEnd) &&
        is_ours(name.substr(1, name.size() - 1 - kEnd.size())))
      found.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return failed("list", directory);
  const int listed = ::dirfd(open.get());
  if (listed < 0) return failed("list", directory);
  for (const std::string& name : found)
    if (::unlinkat(listed, name.c_str(), 0) != 0 && errno != ENOENT)
      return failed("remove", directory + "/" + name);
  return found.size();
}

Result<std::string> read_whole(const std::string& path, size_t size_max) {
  // Opening a pipe would block.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return failed("open", path);
  struct stat found{};
  if (::fstat(file.get(), &found) != 0) return failed("look at", path);
  if (!S_ISREG(found.st_mode)) return Error{Errc::kInvalid, "read " + path + ": it is not a regular file"};
  std::string text;
  std::array<char, 16384> piece;
  while (true) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("read", path);
    if (count == 0) return text;
    if (text.size() + static_cast<size_t>(count) > size_max)
      return Error{Errc::kTooLarge,
                   "read " + path + ": it has more than " + std::to_string(size_max) + " bytes"};
    text.append(piece.data(), static_cast<size_t>(count));
  }
}

Result<std::vector<std::string>> list_names(const std::string& directory, size_t count_max) {
  return list_names(directory, count_max, [](std::string_view) { return true; });
}

Result<std::vector<std::string>> list_names(const std::string& directory, size_t count_max,
                                            const std::function<bool(std::string_view name)>& is_wanted) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), &::closedir);
  if (open == nullptr) {
    if (errno == ENOENT) return std::vector<std::string>{};
    return failed("list", directory);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(open.get())) {
    if (entry->d_name[0] == '.' || !is_wanted(entry->d_name)) continue;
    if (names.size() == count_max)
      return Error{Errc::kTooLarge,
                   "list " + directory + ": it has more than " + std::to_string(count_max) + " entries"};
    names.emplace_back(entry->d_name);
  }
  if (errno != 0) return failed("list", directory);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace sliced::reactor
