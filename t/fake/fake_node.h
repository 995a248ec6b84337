#pragma once
// A node as the kubelet plugin sees it, in memory: drivers, groups, CDI specs, the checkpoint. It outlives who
// uses it, as a node does a daemon; each step can fail, and is recorded.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kubelet/host.h"

namespace sliced::fake {

struct FakeNode {
  struct Function {
    kubelet::DeviceSnapshot look;  // as it is now
    std::string driver = "igbvf";
    std::string group = "7";
    std::string mac = std::string(kubelet::kNoMac);  // its PF enforces
    std::optional<hotplug::VfConfig> settings;       // its PF has for it; nullopt: none
    std::string name = "enp3s0v0";                   // of its interface on the host
    bool is_interface_away = false;                  // in a namespace that is not gone yet
    std::string name_problem = {};                   // why its interface cannot have its name
    bool has_interface = true;                       // while a driver has it that makes one
  };
  std::map<std::string, Function> functions;  // by PCI address
  std::string chosen_driver = "igbvf";        // by the kernel, if no driver is given
  std::string unloaded_driver;                // "" all are there
  std::map<std::pair<std::string, std::string>, cdi::Spec> specs;
  std::map<std::string, std::string> infos;
  std::map<kubelet::MetadataFile, std::string> metadata;
  std::optional<std::string> checkpoint, peer_checkpoint, aside;
  kubelet::OriginalMacs original_macs;  // files
  kubelet::OriginalSettingsByDevice original_settings;
  size_t checkpoint_writes = 0,
         applications = 0;               // calls of write_checkpoint() and apply() that were not killed
  size_t unreadable_times = 0;           // the checkpoint, from now on
  std::optional<std::string> user = "";  // the user that may use prepared devices; nullopt: unknown
  std::vector<std::string> steps;        // "bind 0000:03:00.2"
  /// Called before each step; an Error is the step's result.
  std::function<std::optional<Error>(const std::string& step)> on_step;

  std::optional<Error> step(const std::string& name) {
    steps.push_back(name);
    return on_step ? on_step(name) : std::nullopt;
  }
};

class FakeHost final : public kubelet::Host {
 public:
  explicit FakeHost(FakeNode& node) : node_(node) {}

  Result<kubelet::DeviceSnapshot> read_device(const kubelet::PreparedDevice& device) const override {
    if (auto error = node_.step("look " + device.pci)) return *error;
    const auto at = node_.functions.find(device.pci);
    if (at == node_.functions.end()) return Error{Errc::kNotFound, device.pci + " is gone"};
    kubelet::DeviceSnapshot look = at->second.look;
    look.driver = at->second.driver;
    if (at->second.has_interface && !look.driver.empty() && !hotplug::is_vfio_driver(look.driver))
      look.interfaces = {"eth0"};
    if (hotplug::is_vfio_driver(look.driver)) look.vfio_group = at->second.group;
    if (device.vfio && !device.mac.empty()) look.admin_mac = at->second.mac;
    if (!device.mac.empty() && device.mac != kubelet::kNoMac)
      for (const auto& [pci, other] : node_.functions)
        if (pci != device.pci && other.mac == device.mac) {
          look.mac_holder = "VF (" + pci + ") of its PF";
          look.mac_held = device.mac;
        }
    return look;
  }
  std::string incarnation_of(const kubelet::PreparedDevice& device) const override {
    const auto at = node_.functions.find(device.pci);
    return at == node_.functions.end() ? "" : at->second.look.incarnation;
  }
  Result<std::string> bind(const kubelet::PreparedDevice& device,
                           const std::vector<kubelet::PreparedDevice>&) const override {
    if (auto error = node_.step("bind " + device.pci)) return *error;
    auto& function = node_.functions.at(device.pci);
    if (!hotplug::is_vfio_driver(function.driver)) function.driver = "vfio-pci";
    return function.group;
  }
  Result<std::string> restore(const kubelet::PreparedDevice& device) const override {
    if (auto error = node_.step("restore " + device.pci)) return *error;
    auto& function = node_.functions.at(device.pci);
    const std::string& original = device.vfio->original_driver;
    if (function.driver != "vfio-pci" && !function.driver.empty()) return std::string();
    const bool is_there = original != node_.unloaded_driver || original.empty();
    function.driver = !is_there ? "" : original.empty() ? node_.chosen_driver : original;
    return is_there ? "" : device.pci + " has no driver: " + original + " is not loaded";
  }
  Result<Unit> set_mac(const kubelet::PreparedDevice& device, const std::string& mac) const override {
    if (node_.functions.at(device.pci).mac == mac) return Unit{};
    if (auto error = node_.step("mac " + device.pci + " " + mac)) return *error;
    node_.functions.at(device.pci).mac = mac;
    return Unit{};
  }
  Result<kubelet::OriginalSettings> read_settings(const kubelet::PreparedDevice& device) const override {
    const auto at = node_.functions.find(device.pci);
    const auto vfs = vfs_of(device.pci);
    if (at == node_.functions.end() || (!at->second.settings && vfs.empty()))
      return Error{Errc::kNotFound, "it has none"};
    if (auto error = node_.step("read settings " + device.pci)) return *error;
    kubelet::OriginalSettings out{
        .device = device.pci, .boot_id = "", .vf = at->second.settings, .interface = {}};
    out.interface = kubelet::OriginalInterface{.name = at->second.name};
    out.pf = at->second.look.identity.pf;
    for (const auto& [index, vf] : vfs) out.vfs[index] = {.config = *vf->settings};
    return out;
  }
  // Those that have settings, numbered in the order of their addresses.
  std::map<int, FakeNode::Function*> vfs_of(const std::string& pf) const {
    std::map<int, FakeNode::Function*> out;
    for (auto& [pci, one] : node_.functions)
      if (one.look.identity.pf == pf && one.settings) out.emplace(static_cast<int>(out.size()), &one);
    return out;
  }
  Result<kubelet::RestoredSettings> restore_settings(
      const kubelet::OriginalSettings& original) const override {
    auto& function = node_.functions.at(original.device);
    if (function.settings != original.vf || (original.interface && function.name != original.interface->name))
      if (auto error = node_.step("restore settings " + original.device)) return *error;
    if (original.vf) function.settings = original.vf;
    if (original.interface && function.is_interface_away) return kubelet::RestoredSettings{.is_back = false};
    if (original.interface && !function.name_problem.empty())
      return kubelet::RestoredSettings{.is_back = true, .name_problem = function.name_problem};
    if (original.interface) function.name = original.interface->name;
    const auto vfs = vfs_of(original.device);
    for (const auto& [index, vf] : original.vfs)
      if (vfs.contains(index)) vfs.at(index)->settings = vf.config;
    return kubelet::RestoredSettings{};
  }
  Result<std::vector<kubelet::OriginalSettings>> read_original_settings() const override {
    std::vector<kubelet::OriginalSettings> out;
    for (const auto& [device, one] : node_.original_settings) out.push_back(one);
    return out;
  }
  Result<std::string> user_of(const kubelet::PreparedClaim&) const override {
    if (!node_.user) return Error{Errc::kIo, "processes of pods cannot be seen"};
    return *node_.user;
  }
  Result<std::vector<kubelet::OriginalMac>> read_original_macs() const override {
    std::vector<kubelet::OriginalMac> out;
    for (const auto& [pci, one] : node_.original_macs) out.push_back(one);
    return out;
  }
  Result<std::vector<std::string>> names_in(const std::string& directory) const override {
    std::vector<std::string> names;
    for (const auto& [path, text] : node_.infos)
      if (path.starts_with(directory + "/")) names.push_back(path.substr(directory.size() + 1));
    return names;
  }
  Result<Unit> remove_temporaries(const std::vector<std::string>&, const std::string&) const override {
    if (auto error = node_.step("remove temporaries")) return *error;
    return Unit{};
  }
  // The files of all changes together, as kubelet::NodeHost.
  std::vector<Result<Unit>> apply(const std::vector<kubelet::FileChange>& changes) const override {
    std::vector<Result<Unit>> out(changes.size(), Unit{});
    for (const auto part : {&FakeHost::write_originals, &FakeHost::write_specs, &FakeHost::apply_rest})
      for (size_t i = 0; i < changes.size(); ++i)
        if (out[i]) out[i] = (this->*part)(changes[i]);
    ++node_.applications;
    return out;
  }
  Result<Unit> write_originals(const kubelet::FileChange& change) const {
    for (const kubelet::OriginalMac& one : change.original_macs) {
      if (auto error = node_.step("original " + one.pci)) return *error;
      node_.original_macs.insert_or_assign(one.pci, one);
    }
    for (const kubelet::OriginalSettings& one : change.original_settings) {
      if (auto error = node_.step("original settings " + one.device)) return *error;
      node_.original_settings.insert_or_assign(one.device, one);
    }
    return Unit{};
  }
  Result<Unit> write_specs(const kubelet::FileChange& change) const {
    for (const auto& file : change.specs) {
      if (auto error = node_.step("spec " + file.id)) return *error;
      if (auto text = cdi::encode_spec(file.spec); !text) return text.error();
      node_.specs[{file.spec.kind, file.id}] = file.spec;
    }
    for (const auto& info : change.infos) node_.infos[info.path] = info.text;
    return Unit{};
  }
  Result<Unit> apply_rest(const kubelet::FileChange& change) const {
    for (const auto& [kind, id] : change.removed_specs) {
      if (auto error = node_.step("remove " + id)) return *error;
      node_.specs.erase({kind, id});
    }
    for (const std::string& path : change.removed_infos) node_.infos.erase(path);
    for (const auto& one : change.metadata) {
      if (auto error = node_.step("metadata " + one.request)) return *error;
      const kubelet::MetadataFile file = file_of(one);
      auto text = update_metadata(node_.metadata[file], one);
      if (!text) return text.error();
      if (*text) node_.metadata[file] = **text;
      node_.specs[{kubelet::metadata_kind(one.driver), metadata_id(file)}] =
          metadata_spec(one, "/plugins/" + file.folder + "/" + file.request);
    }
    for (const kubelet::MetadataFile& file : change.removed_metadata) {
      if (auto error = node_.step("remove metadata " + file.request)) return *error;
      node_.metadata.erase(file);
      node_.specs.erase({kubelet::metadata_kind(file.driver), metadata_id(file)});
    }
    for (const std::string& pci : change.removed_original_macs) {
      if (auto error = node_.step("forget " + pci)) return *error;
      node_.original_macs.erase(pci);
    }
    for (const std::string& device : change.removed_original_settings) {
      if (auto error = node_.step("forget settings " + device)) return *error;
      node_.original_settings.erase(device);
    }
    return Unit{};
  }
  Result<Unit> write_checkpoint(const std::string& text) const override {
    if (auto error = node_.step("checkpoint")) return *error;
    ++node_.checkpoint_writes;
    node_.checkpoint = text;
    return Unit{};
  }
  Result<std::string> read_checkpoint() const override {
    if (node_.unreadable_times > 0 && node_.unreadable_times-- > 0)
      return Error{Errc::kIo, "Input/output error"};
    return read(node_.checkpoint);
  }
  Result<std::string> read_peer_checkpoint() const override { return read(node_.peer_checkpoint); }
  Result<std::string> set_checkpoint_aside() const override {
    node_.aside = std::exchange(node_.checkpoint, std::nullopt);
    return std::string("aside");
  }
  Result<std::vector<std::string>> spec_ids(const std::string& kind) const override {
    std::vector<std::string> ids;
    for (const auto& [key, spec] : node_.specs)
      if (key.first == kind) ids.push_back(key.second);
    return ids;
  }
  Result<cdi::Spec> read_spec(const std::string& kind, const std::string& id) const override {
    const auto at = node_.specs.find({kind, id});
    if (at == node_.specs.end()) return Error{Errc::kNotFound, id + " is not there"};
    return at->second;
  }
  Result<std::vector<kubelet::MetadataFile>> metadata_files(const std::string& driver) const override {
    std::vector<kubelet::MetadataFile> out;
    for (const auto& [file, text] : node_.metadata)
      if (file.driver == driver) out.push_back(file);
    return out;
  }

 private:
  static Result<std::string> read(const std::optional<std::string>& text) {
    if (!text) return Error{Errc::kNotFound, "it is not there"};
    return *text;
  }
  FakeNode& node_;
};

}  // namespace sliced::fake
