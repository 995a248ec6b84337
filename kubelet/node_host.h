#pragma once
// kubelet::Host for this node: sysfs, /dev, and files that survive a power failure.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/host_view.h"
#include "kubelet/cdi/store.h"
#include "kubelet/device_process.h"
#include "kubelet/host.h"
#include "kubelet/host_link.h"
#include "kubelet/metadata_files.h"
#include "kubelet/original_mac.h"
#include "kubelet/vf_mac.h"
#include "kubelet/vf_settings.h"
#include "reactor/base/time.h"
#include "reactor/durable_file.h"

namespace sliced::kubelet {

/// Reads go through the view, which may have another root. Writes go to the running kernel and to the given
/// paths.
/// Threads: const; called on workers as described in Host.
/// Files: each is complete or absent, and synced when the call returns (reactor/durable_file.h). Missing
/// directories are created.
/// Errors: name the function's address or the path, and the remedy if there is one.
class NodeHost final : public Host {
 public:
  static constexpr Millis kNodeWaitMax{5'000};       // for udev or devtmpfs to create a group's node
  static constexpr Millis kInterfaceWaitMax{2'000};  // for a driver to create its interface after a bind

  struct Paths {
    std::string cdi_root = "/var/run/cdi";
    std::string checkpoint;              // sliced's
    std::string peer_checkpoint;         // dra-driver-sriov's, read only
    std::string original_macs = {};      // directory of kubelet/original_mac.h
    std::string original_settings = {};  // directory of kubelet/original_settings.h
    std::string plugins;                 // the kubelet's plugin directory, which contains the device metadata
  };
  /// Kernel calls other than reads of sysfs; tests replace them.
  struct Kernel {
    /// Writes a sysfs attribute; path begins with "sys/".
    std::function<Result<Unit>(const std::string& path, std::string_view text)> write;
    /// Returns whether the node "/dev/..." exists.
    std::function<bool(const std::string& path)> has_node;
    /// See process_with_open().
    std::function<Result<std::optional<DeviceProcess>>(const std::vector<std::string>& nodes)>
        process_with_open = {};
    /// See process_of_pods(). Empty: processes cannot be seen.
    std::function<Result<std::optional<DeviceProcess>>(const std::vector<std::string>& pods)> process_of = {};
    /// See read_vf_macs(), write_vf_mac() and write_own_mac().
    std::function<Result<std::map<int, std::string>>(int ifindex)> read_macs = {};
    std::function<Result<Unit>(const VfOfInterface& vf, const std::string& mac)> write_mac = {};
    std::function<Result<Unit>(int ifindex, const std::string& mac)> write_own_mac = {};
    /// See probe_vfio_group(). Empty: the use of a group is unknown.
    std::function<GroupUse(const std::string& node)> probe_group = {};
    VfSettingsKernel vf_settings = {};
    std::function<Result<std::vector<HostLink>>()> links = {};  // of this namespace
    std::function<Result<Unit>(int ifindex, const LinkChange& change)> change_link = {};
    /// Returns the inode of a directory of sysfs, path "sys/...", as a text; "" if it does not exist.
    std::function<std::string(const std::string& path)> inode = {};
  };
  /// The functions of the running kernel.
  static Kernel running_kernel();

  /// Workers share `view`, and may hang in it. Opens nothing.
  NodeHost(std::shared_ptr<const hotplug::HostView> view, Kernel kernel, Paths paths);

  Result<DeviceSnapshot> read_device(const PreparedDevice& device) const override;
  std::string incarnation_of(const PreparedDevice& device) const override;
  Result<std::string> bind(const PreparedDevice& device,
                           const std::vector<PreparedDevice>& together) const override;
  Result<Unit> set_mac(const PreparedDevice& device, const std::string& mac) const override;
  Result<std::string> restore(const PreparedDevice& device) const override;
  Result<OriginalSettings> read_settings(const PreparedDevice& device) const override;
  Result<RestoredSettings> restore_settings(const OriginalSettings& original) const override;
  Result<std::string> user_of(const PreparedClaim& claim) const override;
  Result<Unit> remove_temporaries(const std::vector<std::string>& drivers,
                                  const std::string& device_info_directory) const override;
  std::vector<Result<Unit>> apply(const std::vector<FileChange>& changes) const override;
  Result<Unit> write_checkpoint(const std::string& text) const override;
  Result<std::string> read_checkpoint() const override;
  Result<std::string> read_peer_checkpoint() const override;
  Result<std::string> set_checkpoint_aside() const override;
  Result<std::vector<OriginalMac>> read_original_macs() const override;
  Result<std::vector<OriginalSettings>> read_original_settings() const override;
  Result<std::vector<std::string>> names_in(const std::string& directory) const override;
  Result<std::vector<std::string>> spec_ids(const std::string& kind) const override;
  Result<cdi::Spec> read_spec(const std::string& kind, const std::string& id) const override;
  Result<std::vector<MetadataFile>> metadata_files(const std::string& driver) const override;

 private:
  // Returns "" or an empty list for a file that cannot be read: a function may disappear at any time, and
  // read_device() reports that. Returns the name of the target of the link `driver`; "" without a driver.
  std::string driver_of(const std::string& pci) const;
  std::string text(const std::string& path) const;
  // Returns the directory's entries that begin with prefix, sorted.
  std::vector<std::string> names(const std::string& path, std::string_view prefix = "") const;
  // Sets the RDMA device's name and its nodes below /dev/infiniband (uverbs, umad, rdma_cm), as named in
  // sysfs. device: its path in sysfs, "" for a link. interfaces: its own, in this namespace. An RDMA device
  // in another network namespace has nodes here, but no name: the kernel hides the directory infiniband/ of
  // such a device in sysfs, but not the class directories of its nodes.
  void read_rdma(const std::string& device, const std::vector<std::string>& interfaces,
                 DeviceSnapshot& out) const;
  // Returns the device's interface in this namespace: the one with the name, otherwise the function's only
  // one; nullopt if it is not here.
  std::optional<HostLink> link_of(const std::vector<HostLink>& links, const std::string& device,
                                  const std::string& name) const;
  // device: OriginalSettings::device. "" for a link. The path of a scalable function that is gone does not
  // exist.
  std::string hardware_path(const std::string& device) const;
  // As is_back(), also of a scalable function.
  bool is_hardware_back(const std::string& device) const;
  Result<RestoredSettings> restore_interface(const OriginalSettings& original) const;
  // Restores a VF through its PF. Errors: as restore_vf_settings().
  Result<Unit> restore_vf(const VfOfInterface& vf, const std::string& pci, const OriginalVf& original) const;
  // Returns the VF settings that the PF reports. If the report is too large for the kernel, returns the GUIDs
  // from sysfs, or the kernel's error without those.
  Result<std::map<int, hotplug::VfConfig>> read_vf_settings(const std::string& pf, int ifindex) const;
  Result<std::map<int, OriginalVf>> read_vfs(const std::string& pf, const std::vector<HostLink>& links) const;
  Result<Unit> restore_vfs(const OriginalSettings& original) const;
  // Sets the MAC address of the device's interface, if it is in this namespace. Ignores a refusal of the
  // driver.
  void set_interface_mac(const std::string& device, const std::string& name, const std::string& mac) const;
  void read_vfio(const std::string& pci, DeviceSnapshot& out) const;  // sets the nodes that exist
  void read_scalable_function(const std::string& path, DeviceSnapshot& out) const;
  // Returns " is in use: ..." for the first of them that a process has open; "" if no use is found.
  std::string vdpa_use(const std::vector<hotplug::VdpaDevice>& vdpas) const;
  std::vector<HostLink> links_now() const;  // empty if the kernel does not answer
  // Computes DeviceSnapshot::name_holder. own: the device's PCI address, or the link's name.
  std::optional<std::string> name_holder(const std::string& interface, const std::string& own,
                                         const std::vector<HostLink>& links) const;
  // Computes DeviceSnapshot::mac_holder from the facts that can be read. pci: the function that gets the
  // address, or that is below the link that gets it.
  std::string mac_holder(const std::string& pci, const std::string& mac) const;
  // Returns the interface and those above it (direction "upper_") or below it ("lower_") in sysfs.
  std::set<std::string> stack_of(const std::string& interface, std::string_view direction) const;
  // Returns the interface of the host on top of the PF's uplink (VLAN, macvlan, bond, bridge) with the address, as text for
  // mac_holder; "" if none. The switch of the PF would send its frames to the function.
  std::string upper_with_mac(const std::string& pf, const std::string& mac) const;
  // Returns the PCI addresses of the functions below the link, through any number of VLANs, bonds and bridges
  // (lower_* of sysfs), sorted.
  std::vector<std::string> functions_below(const std::string& interface) const;
  // Sets mac_holder and mac_held for the first address that another function has, or an interface of the host on top of the
  // PF.
  void find_mac_holder(const PreparedDevice& device, const std::vector<std::string>& functions,
                       DeviceSnapshot& out) const;
  // Errors: kBusy with the other function's address: a group can only be assigned as a whole.
  Result<Unit> check_group(const std::string& pci, const std::vector<PreparedDevice>& together) const;
  // Returns "7", or "noiommu-7", once its node exists. Errors: kTimeout after kNodeWaitMax.
  Result<std::string> vfio_nodes(const std::string& pci) const;
  // Returns the process that has a node of the function open, for people; "" if none has, or there is no such
  // node. Nodes: its VFIO group, vfio-dev cdevs and UIO devices, of any driver. Errors: kDenied if processes
  // cannot be seen.
  Result<std::string> holder(const std::string& pci) const;
  // Errors: kBusy if a process has a node of the function open, or processes cannot be seen.
  Result<Unit> check_holder(const std::string& pci) const;
  // Restores the interface's own address from before vfio-pci, if its driver would choose another one.
  // Ignores failures: the function is usable anyway.
  void restore_own_mac(const PreparedDevice& device) const;
  // Rebinds with driver_override, the driver's unbind and drivers_probe
  // (Documentation/ABI/testing/sysfs-bus-pci). "": the driver that the kernel chooses.
  Result<Unit> rebind(const std::string& pci, const std::string& driver) const;
  // Writes the files of all changes together, then applies the rest of each. Requires: no change writes a
  // file that an earlier one removes.
  std::vector<Result<Unit>> apply_batch(std::span<const FileChange> changes) const;
  Result<std::vector<reactor::DurableFile>> original_files(const FileChange& change) const;
  Result<std::vector<reactor::DurableFile>> spec_files(const FileChange& change) const;
  Result<Unit> apply_rest(const FileChange& change) const;  // all but the two above
  Result<Unit> apply_metadata(const FileChange& change) const;

  const std::shared_ptr<const hotplug::HostView> view_;
  const Kernel kernel_;
  const Paths paths_;
  // Selects the store by the kind's name: metadata has its own file names.
  const cdi::Store& store_of(const std::string& kind) const;

  const cdi::Store specs_, metadata_specs_;
  const MetadataFiles metadata_;
  const OriginalMacFiles original_macs_;
  const OriginalSettingsFiles original_settings_;
};

/// Returns whether the function's interface cannot be in another network namespace: the function has an
/// interface here, no driver, a userspace driver, or no longer exists. False if that cannot be read.
bool is_back(const hotplug::HostView& view, const std::string& pci);

}  // namespace sliced::kubelet
