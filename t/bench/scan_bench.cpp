// A full scan of a tree with 256 VFs against a bare loop that makes the same openings, reads, listings and
// links.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <mutex>
#include <string>
#include <vector>

#include "hotplug/scan.h"
#include "t/bench/ratio.h"
#include "t/fixture/scan_host.h"
#include "t/fixture/sysfs_tree.h"

using namespace sliced;

namespace {

// What the scan asks of the host, in order.
struct Access {
  enum { kRead, kList, kLink } kind;
  std::string path;
};

class Recorder final : public hotplug::HostView {
 public:
  explicit Recorder(std::unique_ptr<hotplug::HostView> files) : files_(std::move(files)) {}
  Result<std::string> read(std::string_view path, size_t size_max) const override {
    accesses.push_back({Access::kRead, std::string(path)});
    return files_->read(path, size_max);
  }
  Result<std::vector<std::string>> list(std::string_view path) const override {
    accesses.push_back({Access::kList, std::string(path)});
    return files_->list(path);
  }
  Result<std::string> readlink(std::string_view path) const override {
    accesses.push_back({Access::kLink, std::string(path)});
    return files_->readlink(path);
  }
  bool is_live() const override { return false; }
  mutable std::vector<Access> accesses;

 private:
  std::unique_ptr<hotplug::HostView> files_;
};

size_t repeat(int root, const std::vector<Access>& accesses) {
  char buffer[4096];
  size_t bytes = 0;
  for (const Access& access : accesses) {
    if (access.kind == Access::kLink) {
      const ssize_t got = readlinkat(root, access.path.c_str(), buffer, sizeof buffer);
      bytes += got > 0 ? static_cast<size_t>(got) : 0;
      continue;
    }
    const int fd = openat(root, access.path.c_str(),
                          O_RDONLY | O_CLOEXEC | (access.kind == Access::kList ? O_DIRECTORY : 0));
    if (fd < 0) continue;
    if (access.kind == Access::kRead) {
      const ssize_t got = read(fd, buffer, sizeof buffer);
      bytes += got > 0 ? static_cast<size_t>(got) : 0;
      close(fd);
      continue;
    }
    DIR* dir = fdopendir(fd);
    while (const dirent* entry = readdir(dir)) bytes += entry->d_name[0];
    closedir(dir);
  }
  return bytes;
}

}  // namespace

int main() {
  fixture::SysfsTree tree;
  tree.boot_id("boot-1");
  for (int pf = 0; pf < 4; ++pf) {
    const std::string name = "ens" + std::to_string(pf) + "f0";
    tree.pci("0000:" + std::to_string(30 + pf) + ":00.0")
        .id("8086", "1592")
        .driver("ice")
        .numa(0)
        .netdev(name)
        .sriov(64)
        .vfs(64, [&](fixture::SysfsTree::Pci vf, int index) {
          vf.id("8086", "1889").driver("iavf").netdev(name + "v" + std::to_string(index));
        });
  }
  Recorder recorder(tree.view());
  const size_t devices = fixture::scan_host(recorder).devices.size();
  const auto view = tree.view();
  const int root = open(tree.root().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  std::printf("scan: %zu devices, %zu accesses\n", devices, recorder.accesses.size());
  size_t sink = 0;
  bench::compare(
      "scan of 256 VFs / same files by a bare loop", 21, [&] { sink += repeat(root, recorder.accesses); },
      [&] { sink += fixture::scan_host(*view).devices.size(); });
  close(root);
  return sink == 0;
}
