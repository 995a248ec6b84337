#include "kube/directory/directory_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "kube/objects/cluster.h"
#include "kube/objects/json.h"
#include "kube/objects/kinds.h"
#include "reactor/base/text.h"

namespace sliced::kube {
namespace {

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

Error io_error(std::string_view action, const std::string& path, int code) {
  const Errc ours = code == EACCES || code == EPERM || code == EROFS ? Errc::kDenied : Errc::kIo;
  return {ours, std::string(action) + " " + in_quotes(path) + ": " + std::strerror(code)};
}

Result<std::vector<std::string>> names_in(const std::string& folder) {
  DIR* open = ::opendir(folder.c_str());
  if (open == nullptr && errno == ENOENT) return Error{Errc::kNotFound, in_quotes(folder) + " is not there"};
  if (open == nullptr) return io_error("read directory", folder, errno);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(open)) {
    names.emplace_back(entry->d_name);
    errno = 0;
  }
  const int code = errno;  // an unreadable folder is not a missing one
  ::closedir(open);
  if (code != 0) return io_error("read directory", folder, code);
  std::sort(names.begin(), names.end());
  return names;
}

Result<Sort> sort_of(const std::string& path, struct stat& status) {
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return Sort::kNone;
    return io_error("look at", path, errno);
  }
  if (S_ISDIR(status.st_mode)) return Sort::kFolder;
  if (S_ISLNK(status.st_mode) && ::stat(path.c_str(), &status) != 0) return Sort::kOther;
  return S_ISREG(status.st_mode) ? Sort::kFile : Sort::kOther;
}

bool is_link(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

Signature signature_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size), nanoseconds(status.st_ctim),
          nanoseconds(status.st_mtim)};
}

Result<Unit> write_synced(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return io_error("create", path, errno);
  int code = 0;
  for (size_t at = 0; at < text.size() && code == 0;) {
    const ssize_t size = ::write(fd, text.data() + at, text.size() - at);
    if (size > 0) at += static_cast<size_t>(size);
    if (size < 0 && errno != EINTR) code = errno;
  }
  if (code == 0 && ::fsync(fd) != 0) code = errno;
  if (::close(fd) != 0 && code == 0) code = errno;
  if (code == 0) return Unit{};
  ::unlink(path.c_str());
  return io_error("write", path, code);
}

ContentPtr name_alone(const std::string& content, const char* why) {
  constexpr size_t kLabelsBytesMax = 4'096;
  const auto object = decode_json(content, {.size_max = SIZE_MAX, .nodes_max = SIZE_MAX});
  if (!object) return std::make_shared<const std::string>("{}");
  Json metadata = Json::Object{};
  for (const char* key : {"name", "namespace", "creationTimestamp"})
    if (const auto text = object->find({"metadata", key}); text != nullptr && text->string() != nullptr)
      metadata.set(key, *text);
  const Json* labels = object->find({"metadata", "labels"});
  if (labels != nullptr && encode_json(*labels).size() <= kLabelsBytesMax) metadata.set("labels", *labels);
  return std::make_shared<const std::string>(
      encode_json(Json::Object{{"apiVersion", std::string(object->text("apiVersion"))},
                               {"kind", std::string(object->text("kind"))},
                               {"metadata", std::move(metadata)},
                               {"spec", "(not kept: " + std::string(why) + ")"}}));
}

bool may_exclude(const ObjectKey& key, const std::string& content) {
  if (key.kind != kDeviceExposurePolicies.kind) return false;
  const auto object = decode_json(content, {.size_max = SIZE_MAX, .nodes_max = SIZE_MAX});
  const Json* spec = object ? object->find("spec") : nullptr;
  return spec == nullptr || spec->object() == nullptr || spec->text("action") != "expose";
}

}  // namespace sliced::kube
