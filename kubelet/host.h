#pragma once
// What preparing does to the node, as a port: reading a device, binding it, small files. The real one is
// kubelet/node_host.h; a test's and the simulation's are stepped.
#include <optional>
#include <string>
#include <vector>

#include "kubelet/cdi/spec.h"
#include "kubelet/device_metadata.h"
#include "kubelet/original_mac.h"
#include "kubelet/original_settings.h"
#include "kubelet/plan.h"
#include "kubelet/prepared.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Files that follow one change of what is prepared.
struct FileChange {
  struct SpecFile {
    cdi::Spec spec;
    std::string id;
  };
  struct SpecName {
    std::string kind, id;
  };
  std::vector<SpecFile> specs;
  std::vector<SpecName> removed_specs;
  std::vector<DeviceInfo> infos;           // for Multus
  std::vector<std::string> removed_infos;  // paths
  std::vector<RequestMetadata> metadata;   // each with the spec that mounts it
  std::vector<MetadataFile> removed_metadata;
  std::vector<OriginalMac> original_macs;              // written before everything else
  std::vector<OriginalSettings> original_settings;     // the same
  std::vector<std::string> removed_original_macs;      // PCI addresses; removed after everything else
  std::vector<std::string> removed_original_settings;  // OriginalSettings::device; in a change of its own
};

/// Threads: called on workers, several at once; about one device, and about files, one call at a time.
/// Every call may block, and those about devices hang in the kernel: whoever calls has a deadline.
class Host {
 public:
  virtual ~Host() = default;
  /// The device as the kernel has it now. kNotFound: it is not there.
  virtual Result<HostLook> look(const PreparedDevice& device) const = 0;
  /// Binds the function to vfio-pci, unless a VFIO driver has it already, and waits for its nodes. Yields VfioNodes::text(). What
  /// was begun and failed is taken back. together: what is bound for the same claim, the device itself included.
  /// kBusy: the group has another function than these.
  virtual Result<std::string> bind(const PreparedDevice& device,
                                   const std::vector<PreparedDevice>& together) const = 0;
  /// Has its PF give the VF that address (kubelet/vf_mac.h), and reads it back. kNotFound: VF or PF are gone. kBusy: somebody
  /// has the function open, and another address.
  virtual Result<Unit> set_mac(const PreparedDevice& device, const std::string& mac) const = 0;
  /// Back to its original driver; a function that has it already, or any other but vfio-pci, stays. Once vfio-pci has let it go,
  /// what else fails is no error: yields what is not as it was before, for people, and nobody is preferred; "" nothing.
  virtual Result<std::string> restore(const PreparedDevice& device) const = 0;

  /// What the device's PF keeps for it, and its interface on the host, as they are now; without a boot. kNotFound: there is nothing that
  /// could be kept of it. Errors: that cannot be read.
  virtual Result<OriginalSettings> read_settings(const PreparedDevice&) const {
    return Error{Errc::kNotFound, "it has no settings"};
  }
  /// Gives the device its settings of before, and reads them back: writes only what differs. A name that another interface has is no error:
  /// whatever is done in a pod must not take a device out of use, and a name reaches no other pod. Errors: which settings differ, and why;
  /// kBusy: a process has the device open.
  virtual Result<RestoredSettings> restore_settings(const OriginalSettings&) const {
    return RestoredSettings{};
  }

  /// Which process, or which pod, may still use the claim's devices; "" none does. Errors: that cannot be seen.
  virtual Result<std::string> user_of(const PreparedClaim& claim) const = 0;

  /// Removes the temporary files that a writer left when it was killed: of the checkpoint, of specs and metadata of these
  /// drivers, of device infos ("" there are none). Requires: nothing is written meanwhile.
  virtual Result<Unit> remove_temporaries(const std::vector<std::string>& drivers,
                                          const std::string& device_info_directory) const = 0;
  /// All of it, or what failed first.
  virtual Result<Unit> apply(const FileChange& change) const = 0;
  virtual Result<Unit> write_checkpoint(const std::string& text) const = 0;
  /// kNotFound: there is none.
  virtual Result<std::string> read_checkpoint() const = 0;
  virtual Result<std::string> read_peer_checkpoint() const = 0;
  /// Renames ours out of the way; yields its new path.
  virtual Result<std::string> set_checkpoint_aside() const = 0;
  /// OriginalMacFiles::read().
  virtual Result<std::vector<OriginalMac>> read_original_macs() const = 0;
  /// OriginalSettingsFiles::read().
  virtual Result<std::vector<OriginalSettings>> read_original_settings() const {
    return std::vector<OriginalSettings>();
  }
  /// Of files; a directory that is not there has none.
  virtual Result<std::vector<std::string>> names_in(const std::string& directory) const = 0;
  /// Ids of the specs of that kind, and one of them.
  virtual Result<std::vector<std::string>> spec_ids(const std::string& kind) const = 0;
  virtual Result<cdi::Spec> read_spec(const std::string& kind, const std::string& id) const = 0;
  /// Files of device metadata of that driver.
  virtual Result<std::vector<MetadataFile>> metadata_files(const std::string& driver) const = 0;
};

}  // namespace sliced::kubelet
