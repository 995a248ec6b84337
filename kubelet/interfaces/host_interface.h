#pragma once
// The interface of a device that CNI plugins move into a sandbox: what it was on the host, and its way back where they leave it.
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "kube/objects/json.h"
#include "kubelet/cni/record.h"
#include "kubelet/host_link.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Completes Record::host_interface with the interface's kind; where the host does not have the interface it becomes nullopt.
/// Blocks; for a worker.
void note_host_interface(cni::Record& record);

/// Completes Record::host_interface with the number that the interface has in the sandbox, by which DEL finds it whatever its pod has renamed.
/// After ADD, before the pod's containers start. network_namespace: a descriptor. Blocks; for a worker.
void record_moved_interface(cni::Record& record, int network_namespace);

/// Before a DEL by plugins that move the device's interface (`host-device`, `sriov`, `ib-sriov`): in the sandbox it alone has its name there,
/// and its alias is its name on the host. These plugins move whatever has the name, and `host-device` names it on the host by its alias; a pod
/// with CAP_NET_ADMIN chooses both. Alternative names, of which one may be taken on the host, are removed: restore_link() gives those of before
/// back. Other interfaces with the name get one that the kernel chooses. Blocks; for a worker. Errors: those of read_links() and change_link();
/// the plugins must not be run then.
Result<Unit> restore_names_in_sandbox(const cni::Record& record, int network_namespace);

/// Undoes undo_native()'s part, then moves the interface back from the sandbox's namespace where the host lacks it, also where the first failed:
/// down, under its name of before. Ok where there is nothing to do. network_namespace: a descriptor. Blocks; for a worker. Errors: kDenied, kTimeout, kIo.
Result<Unit> bring_interface_back(const cni::Record& record, int network_namespace);

/// Keeps MAC address, MTU and state of a host's bridge while the plugin `bridge` adds interfaces to it; before ADD. The kernel derives MAC address
/// and MTU of a bridge from its ports until they are set (br_stp_recalculate_bridge_id, br_mtu_auto_adjust), and the plugin makes ports with a
/// random address and, without `mtu`, of 1500 bytes. So this sets the address that the bridge has, and writes the bridge's MTU into
/// Record::config where it has none. Of a bridge without ports the MTU is set, too: the kernel resets it with the last port.
/// Blocks. Errors: kNotFound without the bridge, which the plugin would make; kInvalid where it is down, which the plugin would set up;
/// those of read_links() and change_link(). They name the bridge and the remedy.
/// An interface for `ipvlan` is checked by check_ipvlan().
Result<Unit> keep_host_links(cni::Record& record);
/// The mode and the flags of all ipvlan interfaces of a device are those of the last one made (ipvlan_set_port_mode), so that a pod's would
/// change those of the host. plugin: the configuration of an `ipvlan`; links: of the host. Pure. Errors: kConflict names the host's interface.
Result<Unit> check_ipvlan(const kube::Json& plugin, const std::vector<HostLink>& links);

/// Sysctls of the host that an ADD changes for good: `bridge` sets accept_ra of the host's bridge to 0 each time, so that a host whose IPv6
/// default route comes by router advertisements on it loses the route.
/// Threads: safe from several workers. ADDs on one bridge may run at once: each gets the value of before the first.
class HostSysctls {
 public:
  /// root: "/proc/sys", or a test's.
  explicit HostSysctls(std::string root = "/proc/sys") : root_(std::move(root)) {}
  /// Into Record::host_sysctls, before ADD. Blocks.
  void note(cni::Record& record);
  /// Writes what differs, and empties Record::host_sysctls; after ADD, or DEL where ADD has not ended well. Blocks. A value that the
  /// kernel refuses, or of a bridge that is gone, is passed over.
  void restore(cni::Record& record);

 private:
  struct Noted {
    std::string value;
    std::set<std::string> records;  // names; until they are restored
  };
  const std::string root_;
  std::mutex mutex_;
  std::map<std::string, Noted> noted_;  // by path
};

}  // namespace sliced::kubelet
