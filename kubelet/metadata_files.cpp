#include "kubelet/metadata_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "reactor/base/text.h"
#include "reactor/descriptor.h"

namespace sliced::kubelet {
namespace {

using reactor::Descriptor;

constexpr const char* kAll = "dra-device-metadata";
constexpr const char* kName = "metadata.json";
constexpr const char* kTemporary = ".metadata.json.tmp";
constexpr unsigned kFolderMode = 0755, kFileMode = 0644;

Error failed(const std::string& step, const std::string& path) {
  const int error = errno;
  return {error == ENOENT                                       ? Errc::kNotFound
          : error == EACCES || error == EPERM || error == EROFS ? Errc::kDenied
                                                                : Errc::kIo,
          "device metadata: " + step + " " + path + ": " + std::strerror(error)};
}

Descriptor open_folder(int in, const std::string& name) {
  return Descriptor(::openat(in, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// The folders of a file, from the plugin's folder downwards; the last one is open. path: for error texts.
struct Folders {
  std::vector<Descriptor> open;
  std::string path;
};

Result<Folders> walk(const std::string& plugins, const MetadataFile& file, bool makes_them) {
  Folders out{.open = {}, .path = plugins + "/" + file.driver};
  // This directory may be a symbolic link, because the administrator chooses it.
  out.open.emplace_back(::open(out.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out.open.back()) return failed("open", out.path);
  for (const std::string& name : {std::string(kAll), file.folder, file.request}) {
    const int in = out.open.back().get();
    out.path += "/" + name;
    const bool is_new = makes_them && ::mkdirat(in, name.c_str(), kFolderMode) == 0;
    if (makes_them && !is_new && errno != EEXIST) return failed("create", out.path);
    out.open.push_back(open_folder(in, name));
    if (!out.open.back()) return failed("open", out.path);
    // Sets the mode regardless of the umask, because a container's user must be able to enter the folder.
    if (is_new && (::fchmod(out.open.back().get(), kFolderMode) != 0 || ::fsync(in) != 0))
      return failed("create", out.path);
  }
  return out;
}

// Returns the text of a regular file; nullopt for other kinds of files, and for files that are larger than
// sliced's.
std::optional<std::string> read_all(int file) {
  struct stat found{};
  if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode) ||
      found.st_size > static_cast<off_t>(kMetadataBytesMax))
    return std::nullopt;
  std::string text(static_cast<size_t>(found.st_size), '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t count = ::pread(file, text.data() + got, text.size() - got, static_cast<off_t>(got));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    got += static_cast<size_t>(count);
  }
  text.resize(got);
  return text;
}

bool write_all(int file, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = ::pwrite(file, text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    at += static_cast<size_t>(count);
  }
  return true;
}

// A concurrent reader sees complete documents: space is allocated first, and a longer old text is overwritten
// with blanks before it is truncated.
Result<Unit> rewrite(int file, const std::string& text, size_t size_before, const std::string& path) {
  if (text.size() > size_before &&
      ::fallocate(file, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(text.size())) != 0 && errno != EOPNOTSUPP)
    return failed("make room in", path);
  std::string padded = text;
  padded.resize(std::max(text.size(), size_before), ' ');
  if (!write_all(file, padded) || ::ftruncate(file, static_cast<off_t>(text.size())) != 0)
    return failed("write", path);
  return Unit{};
}

Result<Unit> replace(int folder, const std::string& text, const std::string& path) {
  ::unlinkat(folder, kTemporary, 0);
  const Descriptor file(
      ::openat(folder, kTemporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!file) return failed("create", path);
  if (!write_all(file.get(), text) || ::fchmod(file.get(), kFileMode) != 0 || ::fsync(file.get()) != 0 ||
      ::renameat(folder, kTemporary, folder, kName) != 0 || ::fsync(folder) != 0) {
    Error error = failed("write", path);
    ::unlinkat(folder, kTemporary, 0);
    return error;
  }
  return Unit{};
}

Descriptor open_file(int folder, int how) {
  return Descriptor(::openat(folder, kName, how | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int own = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);
  const std::unique_ptr<DIR, int (*)(DIR*)> open(own < 0 ? nullptr : ::fdopendir(own), &::closedir);
  if (open == nullptr) {
    if (own >= 0) ::close(own);
    return names;
  }
  while (const dirent* entry = ::readdir(open.get()))
    if (entry->d_name[0] != '.' && names.size() <= MetadataFiles::kFoldersMax)
      names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string uid_in(int folder) {
  const Descriptor file = open_file(folder, O_RDONLY);
  const auto text = file ? read_all(file.get()) : std::nullopt;
  return text ? metadata_uid(*text) : "";
}

}  // namespace

std::string MetadataFiles::path_of(const MetadataFile& file) const {
  return plugins_ + "/" + file.driver + "/" + kAll + "/" + file.folder + "/" + file.request + "/" + kName;
}

Result<Unit> MetadataFiles::write(const RequestMetadata& metadata) const {
  auto folders = walk(plugins_, file_of(metadata), true);
  if (!folders) return std::move(folders.error());
  const int folder = folders->open.back().get();
  const std::string path = folders->path + "/" + kName;
  const Descriptor file = open_file(folder, O_RDWR);
  const auto before = file ? read_all(file.get()) : std::nullopt;
  const auto text = update_metadata(before.value_or(""), metadata);
  if (!text) return text.error();
  if (*text && (!before || metadata_uid(*before) != metadata.uid)) return replace(folder, **text, path);
  if (*text)
    if (auto written = rewrite(file.get(), **text, before->size(), path); !written) return written;
  if (::fchmod(file.get(), kFileMode) != 0 || ::fsync(file.get()) != 0) return failed("sync", path);
  return Unit{};
}

Result<Unit> MetadataFiles::remove(const MetadataFile& file) const {
  auto folders = walk(plugins_, file, false);
  if (!folders) {
    if (folders.error().code == Errc::kNotFound) return Unit{};
    return std::move(folders.error());
  }
  const auto& open = folders->open;
  if (uid_in(open[3].get()) != file.uid) return Unit{};
  ::unlinkat(open[3].get(), kTemporary, 0);
  if (::unlinkat(open[3].get(), kName, 0) != 0 && errno != ENOENT)
    return failed("remove", folders->path + "/" + kName);
  if (::unlinkat(open[2].get(), file.request.c_str(), AT_REMOVEDIR) != 0 && errno != ENOTEMPTY)
    return failed("remove", folders->path);
  if (::unlinkat(open[1].get(), file.folder.c_str(), AT_REMOVEDIR) != 0 && errno != ENOTEMPTY)
    return failed("remove", folders->path + "/..");
  if (::fsync(open[1].get()) != 0) return failed("sync", folders->path);
  return Unit{};
}

Result<Unit> MetadataFiles::remove_temporaries(const std::string& driver) const {
  const auto files = list(driver);
  if (!files) return files.error();
  for (const MetadataFile& file : *files) {
    const auto folders = walk(plugins_, file, false);
    if (folders) ::unlinkat(folders->open.back().get(), kTemporary, 0);
  }
  return Unit{};
}

Result<std::vector<MetadataFile>> MetadataFiles::list(const std::string& driver) const {
  std::vector<MetadataFile> out;
  const std::string path = plugins_ + "/" + driver;
  const Descriptor plugin(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Descriptor all = plugin ? open_folder(plugin.get(), kAll) : Descriptor(-1);
  if (!all) {
    if (errno == ENOENT) return out;
    return failed("open", path + "/" + kAll);
  }
  const auto folders = names_in(all.get());
  if (folders.size() > kFoldersMax)
    return Error{Errc::kTooLarge,
                 "device metadata: " + path + " has more than " + std::to_string(kFoldersMax) + " folders"};
  for (const std::string& folder : folders) {
    const Descriptor claim = open_folder(all.get(), folder);
    if (!claim) continue;
    for (const std::string& request : names_in(claim.get())) {
      const Descriptor inner = open_folder(claim.get(), request);
      if (inner) out.push_back({driver, folder, request, uid_in(inner.get())});
    }
  }
  return out;
}

}  // namespace sliced::kubelet
