// What files of the kernel may hold: each line of the input is "path=content" or "path>target" of one small
// host.
#include <map>

#include "hotplug/link.h"
#include "hotplug/resolve.h"
#include "hotplug/scan.h"
#include "t/fixture/scan_host.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::sysfs_target {

namespace {

class Files final : public hotplug::HostView {
 public:
  std::map<std::string, std::string, std::less<>> texts, links;

  Result<std::string> read(std::string_view path, size_t size_max) const override {
    const auto at = texts.find(path);
    if (at == texts.end()) return missing(path);
    if (at->second.size() > size_max) return Error{Errc::kTooLarge, std::string("too large")};
    return at->second;
  }
  Result<std::vector<std::string>> list(std::string_view path) const override {
    std::set<std::string> names;
    const std::string prefix = std::string(path) + "/";
    for (const auto* map : {&texts, &links})
      for (const auto& [name, value] : *map)
        if (name.starts_with(prefix))
          names.insert(name.substr(prefix.size(), name.find('/', prefix.size()) - prefix.size()));
    if (names.empty()) return missing(path);
    return std::vector<std::string>(names.begin(), names.end());
  }
  Result<std::string> readlink(std::string_view path) const override {
    const auto at = links.find(path);
    if (at == links.end()) return missing(path);
    return at->second;
  }
  bool is_live() const override { return false; }

 private:
  static Error missing(std::string_view path) { return {Errc::kNotFound, escaped(path, 256) + ": ENOENT"}; }
};

}  // namespace

FUZZ_TARGET(sysfs) {
  fuzz::Input input(data, size);
  Files files;
  while (!input.rest.empty()) {
    const std::string_view line = input.until('\n');
    const size_t at = line.find_first_of("=>");
    if (at == std::string_view::npos || at == 0 || at > 200) continue;
    auto& map = line[at] == '=' ? files.texts : files.links;
    map[std::string(line.substr(0, at))] = line.substr(at + 1);
  }
  const fixture::ScanResult found = fixture::scan_host(files, fixture::SlowReads::kRead);
  for (const auto& problem : found.problems) fuzz::check_text(problem);
  for (const auto& device : found.devices) fuzz::check_text(escaped(device.broken, 1024));
  std::set<std::string> names;
  for (const char* path : {"proc/net/vlan/config", "proc/net/route", "proc/net/ipv6_route"})
    if (const auto text = files.read(path, 1 << 20)) {
      hotplug::decode_vlan_config(*text);
      hotplug::decode_default_routes4(*text, names);
      hotplug::decode_default_routes6(*text, names);
    }
  return 0;
}

}  // namespace sliced::fuzz::sysfs_target
