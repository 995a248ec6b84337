#pragma once
// The interface of a device that CNI plugins move into a sandbox: its state on the host, and moving it back
// if they leave it there.
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "hotplug/host_view.h"
#include "kube/objects/json.h"
#include "kubelet/cni/record.h"
#include "kubelet/host_link.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Replaces names in Record::config and Record::host_interface by the present ones of the device's hardware
/// (Record::hardware): its interface on the host and its RDMA device. The names of a prepared claim may
/// belong to another function. Does nothing for a virtual link, which its name identifies. Blocks; for a
/// worker. Errors: kNotFound if a CNI plugin is given an interface by name, and the hardware has none on the
/// host.
Result<Unit> use_present_names(cni::Record& record, const hotplug::HostView& view);

/// Completes Record::host_interface with the interface's kind; sets it to nullopt if the host does not have
/// the interface. Blocks; for a worker.
void record_host_interface(cni::Record& record);

/// Completes Record::host_interface with the interface's ifindex in the sandbox, by which DEL finds it after
/// a rename by the pod. Requires: called after ADD, before the pod's containers start. network_namespace: a
/// descriptor. Blocks; for a worker.
void record_moved_interface(cni::Record& record, int network_namespace);

/// Restores the interface's name in the sandbox, and sets its alias to its name on the host, before a DEL of
/// a plugin that moves it (`host-device`, `sriov`, `ib-sriov`). These plugins move the interface with that
/// name, and `host-device` renames it on the host to its alias; a pod with CAP_NET_ADMIN can change both.
/// Alternative names are removed, because the host may use one; restore_link() restores the original ones.
/// Other interfaces with the name get one that the kernel chooses. Blocks; for a worker. Errors: those of
/// read_links() and change_link(); the plugins must not be run then.
Result<Unit> restore_names_in_sandbox(const cni::Record& record, int network_namespace);

/// Runs undo_native(), then moves the interface back from the sandbox's namespace if the host lacks it, even
/// if the first step failed. The interface is then down, under its former name. Ok if it is on the host
/// already. network_namespace: a descriptor. Blocks; for a worker. Errors: kDenied, kTimeout, kIo.
Result<Unit> bring_interface_back(const cni::Record& record, int network_namespace);

/// Pins MAC address, MTU and state of a host's bridge before the plugin `bridge` adds interfaces to it. The
/// kernel derives MAC address and MTU of a bridge from its ports until they are set
/// (br_stp_recalculate_bridge_id, br_mtu_auto_adjust). The plugin creates ports with a random address and,
/// without `mtu`, with 1500 bytes. So this function sets the bridge's current address, and writes the
/// bridge's MTU into Record::config if that has none. For a bridge without ports it also sets the MTU,
/// because the kernel resets it with the last port. Interfaces for `ipvlan` are checked by check_ipvlan().
/// Blocks.
/// Errors: kNotFound without the bridge, which the plugin would create; kInvalid if it is down, because the
/// plugin would set it up; those of read_links() and change_link(). Each names the bridge and the remedy.
Result<Unit> protect_bridge(cni::Record& record);
/// Checks mode and flags of an `ipvlan`. All ipvlan interfaces of a device share those of the last one
/// created (ipvlan_set_port_mode), so a pod's would change the host's. plugin: the configuration; links: of
/// the host. Pure. Errors: kConflict names the host's interface.
Result<Unit> check_ipvlan(const kube::Json& plugin, const std::vector<HostLink>& links);

/// Host sysctls that an ADD changes permanently: `bridge` sets accept_ra of the host's bridge to 0. A host
/// with its IPv6 default route from router advertisements on that bridge would lose the route. Threads: safe
/// on several workers. Concurrent ADDs on one bridge all get the value from before the first one.
class HostSysctls {
 public:
  /// root: "/proc/sys", or a test's.
  explicit HostSysctls(std::string root = "/proc/sys") : root_(std::move(root)) {}
  /// Stores the values in Record::host_sysctls, before ADD. Blocks.
  void note(cni::Record& record);
  /// Writes the values that differ, and clears Record::host_sysctls; after ADD, or after the DEL of a failed
  /// one. Ignores a refused value, and a bridge that no longer exists. Blocks.
  void restore(cni::Record& record);

 private:
  struct SavedSysctl {
    std::string value;
    std::set<std::string> records;  // record names, until their values are restored
  };
  const std::string root_;
  std::mutex mutex_;
  std::map<std::string, SavedSysctl> saved_;  // by path
};

}  // namespace sliced::kubelet
