#pragma once
// kubelet::Host over this node: sysfs, /dev, and files that outlast a power cut.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/host_view.h"
#include "kubelet/cdi/store.h"
#include "kubelet/device_holder.h"
#include "kubelet/host.h"
#include "kubelet/host_link.h"
#include "kubelet/metadata_files.h"
#include "kubelet/original_mac.h"
#include "kubelet/vf_mac.h"
#include "kubelet/vf_settings.h"
#include "reactor/base/time.h"

namespace sliced::kubelet {

/// Reading goes through the view, and so may be another root's; what is written is the running kernel's and the
/// paths' own.
/// Threads:  const; called from workers as Host says.
/// Files:    each is whole or not there, and on disk when the call returns (reactor/durable_file.h); directories
///           are made where they are missing.
/// Errors:   name the function's address or the path, and where there is one the remedy.
class NodeHost final : public Host {
 public:
  static constexpr Millis kNodeWaitMax{5'000};       // for udev or devtmpfs to make a group's node
  static constexpr Millis kInterfaceWaitMax{2'000};  // for a driver that has taken a function

  struct Paths {
    std::string cdi_root = "/var/run/cdi";
    std::string checkpoint;              // ours
    std::string peer_checkpoint;         // dra-driver-sriov's, read only
    std::string original_macs = {};      // directory of kubelet/original_mac.h
    std::string original_settings = {};  // directory of kubelet/original_settings.h
    std::string plugins;                 // the kubelet's directory of them, with device metadata
  };
  /// Of the kernel, beside reading: a test has its own.
  struct Kernel {
    /// Writes an attribute; path begins with "sys/".
    std::function<Result<Unit>(const std::string& path, std::string_view text)> write;
    /// Whether "/dev/..." is there.
    std::function<bool(const std::string& path)> has_node;
    /// As kubelet::process_with_open().
    std::function<Result<std::optional<DeviceHolder>>(const std::vector<std::string>& nodes)>
        process_with_open = {};
    /// A process of one of these pods, by uid; none: whether there is one cannot be seen.
    std::function<Result<std::optional<DeviceHolder>>(const std::vector<std::string>& pods)> process_of = {};
    std::function<Result<std::map<int, std::string>>(int ifindex)> read_macs = {};
    std::function<Result<Unit>(const VfOfInterface& vf, const std::string& mac)> write_mac = {};
    std::function<Result<Unit>(int ifindex, const std::string& mac)> write_own_mac = {};
    std::function<GroupUse(const std::string& node)> probe_group = {};
    VfSettingsKernel vf_settings = {};
    std::function<Result<std::vector<HostLink>>()> links = {};  // of this namespace
    std::function<Result<Unit>(int ifindex, const LinkChange& change)> change_link = {};
  };
  /// That of this machine.
  static Kernel running_kernel();

  /// view is shared with workers that may hang in it. Nothing is opened here.
  NodeHost(std::shared_ptr<const hotplug::HostView> view, Kernel kernel, Paths paths);

  Result<HostLook> look(const PreparedDevice& device) const override;
  Result<std::string> bind(const PreparedDevice& device,
                           const std::vector<PreparedDevice>& together) const override;
  Result<Unit> set_mac(const PreparedDevice& device, const std::string& mac) const override;
  Result<std::string> restore(const PreparedDevice& device) const override;
  Result<OriginalSettings> read_settings(const PreparedDevice& device) const override;
  Result<RestoredSettings> restore_settings(const OriginalSettings& original) const override;
  Result<std::string> user_of(const PreparedClaim& claim) const override;
  Result<Unit> remove_temporaries(const std::vector<std::string>& drivers,
                                  const std::string& device_info_directory) const override;
  Result<Unit> apply(const FileChange& change) const override;
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
  // What cannot be read is "" and nothing: a function may go at any time, and look() has told whether it was there.
  // The name that the link `driver` leads to; "" without one.
  std::string driver_of(const std::string& pci) const;
  std::string text(const std::string& path) const;
  // Of a directory's entries that begin with prefix, sorted.
  std::vector<std::string> names(const std::string& path, std::string_view prefix = "") const;
  // The device's name and its nodes below /dev/infiniband (uverbs, umad, rdma_cm), those that sysfs names.
  // device: its path in sysfs, "" of a link. interfaces: its own, in this namespace.
  void look_at_rdma(const std::string& device, const std::vector<std::string>& interfaces,
                    HostLook& out) const;
  // The device's interface among those of this namespace: that of the name, else the function's only one; nullopt: it is not here.
  std::optional<HostLink> link_of(const std::vector<HostLink>& links, const std::string& device,
                                  const std::string& name) const;
  Result<RestoredSettings> restore_interface(const OriginalSettings& original) const;
  // Of a VF, through its PF. Errors: as restore_vf_settings().
  Result<Unit> restore_vf(const VfOfInterface& vf, const std::string& pci, const OriginalVf& original) const;
  // What the PF reports of its VFs. Where that is too large for the kernel, the GUIDs of sysfs, or the kernel's error where it has none.
  Result<std::map<int, hotplug::VfConfig>> read_vf_settings(const std::string& pf, int ifindex) const;
  Result<std::map<int, OriginalVf>> read_vfs(const std::string& pf, const std::vector<HostLink>& links) const;
  Result<Unit> restore_vfs(const OriginalSettings& original) const;
  // Gives the device's interface, where it is here, that MAC address. What its driver refuses is passed over.
  void ask_for_mac(const std::string& device, const std::string& name, const std::string& mac) const;
  // Path of the scalable function in sysfs; "" it is none, or it is gone.
  std::string sf_of(const PreparedDevice& device) const;
  void look_at_sf(const std::string& path, HostLook& out) const;
  // " is in use: ..."; "" it is not, as far as can be seen.
  std::string vdpa_use(const hotplug::VdpaDevice& vdpa) const;
  std::vector<HostLink> links_now() const;  // none where the kernel gives no answer
  // As HostLook has it. own: the device's PCI address, or the link's name.
  std::optional<std::string> name_holder(const std::string& interface, const std::string& own,
                                         const std::vector<HostLink>& links) const;
  // HostLook::mac_holder, as far as it can be read. pci: the function that is to have the address, or is below the link that is.
  std::string mac_holder(const std::string& pci, const std::string& mac) const;
  // Those below the link, through any number of VLANs, bonds and bridges (lower_* of sysfs); their PCI addresses, sorted.
  std::vector<std::string> functions_below(const std::string& interface) const;
  // Into mac_holder and mac_held, of the first address that another function has.
  void look_at_macs(const PreparedDevice& device, const std::vector<std::string>& functions,
                    HostLook& out) const;
  // kBusy, with the other function's address: a group is handed over whole.
  Result<Unit> check_group(const std::string& pci, const std::vector<PreparedDevice>& together) const;
  // "7", or "noiommu-7", once its node is there. kTimeout: it is not within kNodeWaitMax.
  Result<std::string> vfio_nodes(const std::string& pci) const;
  // The process that has a node of the function open, for people; "" none, also where it has no such node. Nodes: its VFIO
  // group, vfio-dev cdevs and UIO devices, whichever driver made them. Errors: kDenied, that cannot be told.
  Result<std::string> holder(const std::string& pci) const;
  // kBusy: a process has a node of the function open, or it cannot be told whether one has.
  Result<Unit> check_holder(const std::string& pci) const;
  // The interface's own address of before vfio-pci, where its driver would choose another one. Failures are
  // passed over: the function is back all the same.
  void return_address(const PreparedDevice& device) const;
  // By driver_override, the driver's unbind and drivers_probe (Documentation/ABI/testing/sysfs-bus-pci). "":
  // whichever driver the kernel chooses.
  Result<Unit> rebind(const std::string& pci, const std::string& driver) const;
  Result<Unit> apply_metadata(const FileChange& change) const;

  const std::shared_ptr<const hotplug::HostView> view_;
  const Kernel kernel_;
  const Paths paths_;
  // By the kind's name: metadata has file names of its own.
  const cdi::Store& store_of(const std::string& kind) const;

  const cdi::Store specs_, metadata_specs_;
  const MetadataFiles metadata_;
  const OriginalMacFiles original_macs_;
  const OriginalSettingsFiles original_settings_;
};

/// Whether no interface of the function can be in a network namespace other than the host's: it has one here, no driver, a
/// driver for user space, or is gone. False where that cannot be read.
bool is_back(const hotplug::HostView& view, const std::string& pci);

}  // namespace sliced::kubelet
