#pragma once
// Interface to the node for preparing: reading a device, binding it, small files. kubelet/node_host.h
// implements it; tests and the simulation have their own.
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

/// The file changes that follow one change of the prepared claims.
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
  std::vector<OriginalSettings> original_settings;     // written before everything else
  std::vector<std::string> removed_original_macs;      // PCI addresses; removed after everything else
  std::vector<std::string> removed_original_settings;  // OriginalSettings::device; in a change of its own
};

/// Threads: called on workers, several at a time. Calls about one device, and calls about files, do not
/// overlap. Every call may block, and calls about devices may hang in the kernel, so the caller has a
/// deadline.
class Host {
 public:
  virtual ~Host() = default;
  /// Returns the device as the kernel reports it now. Errors: kNotFound if it does not exist.
  virtual Result<DeviceSnapshot> read_device(const PreparedDevice& device) const = 0;
  /// Returns a text that differs after the device's hardware was removed and created again, within one boot
  /// (the kernel gives each directory of sysfs a number of its own); "" if unknown, and for a link.
  virtual std::string incarnation_of(const PreparedDevice&) const { return ""; }
  /// Binds the function to vfio-pci, unless a VFIO driver is already bound, and waits for its nodes. Returns
  /// VfioNodes::text(). Undoes a bind that fails. together: the devices that are bound for the same claim,
  /// including this one.
  /// Errors: kBusy if the group contains another function.
  virtual Result<std::string> bind(const PreparedDevice& device,
                                   const std::vector<PreparedDevice>& together) const = 0;
  /// Sets the VF's address at its PF (kubelet/vf_mac.h), and reads it back. Errors: kNotFound if the VF or PF
  /// does not exist. kBusy if a process has the function open and the address differs.
  virtual Result<Unit> set_mac(const PreparedDevice& device, const std::string& mac) const = 0;
  /// Binds the function to its original driver. A function with that driver, or any other but vfio-pci, stays
  /// unchanged. After vfio-pci has released the function, failures are not errors: returns a text about the
  /// difference, for people, and clears driver_override. Returns "" if there is no difference.
  virtual Result<std::string> restore(const PreparedDevice& device) const = 0;

  /// Returns the settings that the PF keeps for the device, and those of its interface on the host, without a
  /// boot id. Errors: kNotFound if the device has no settings to keep; others if they cannot be read.
  virtual Result<OriginalSettings> read_settings(const PreparedDevice&) const {
    return Error{Errc::kNotFound, "it has no settings"};
  }
  /// Restores the device's settings and reads them back; writes only differences. A name that another
  /// interface has is not an error: a pod must not be able to take a device out of use, and a name does not
  /// reach another pod.
  /// Errors: the settings that differ, with reasons; kBusy if a process has the device open.
  virtual Result<RestoredSettings> restore_settings(const OriginalSettings&) const {
    return RestoredSettings{};
  }

  /// Returns the process or pod that may still use the claim's devices; "" if none does. Errors: processes
  /// cannot be read.
  virtual Result<std::string> user_of(const PreparedClaim& claim) const = 0;

  /// Removes temporary files that a killed writer left: of the checkpoint, of specs and metadata of these
  /// drivers, of device infos (directory ""; none). Requires: no writer runs.
  virtual Result<Unit> remove_temporaries(const std::vector<std::string>& drivers,
                                          const std::string& device_info_directory) const = 0;
  /// Applies the changes as if one after the other. Returns for each whether it was applied as a whole, or
  /// its first error: a change that fails does not affect the others. All results are durable.
  virtual std::vector<Result<Unit>> apply(const std::vector<FileChange>& changes) const = 0;
  virtual Result<Unit> write_checkpoint(const std::string& text) const = 0;
  /// Errors: kNotFound if there is no file.
  virtual Result<std::string> read_checkpoint() const = 0;
  virtual Result<std::string> read_peer_checkpoint() const = 0;
  /// Renames sliced's checkpoint, and returns its new path.
  virtual Result<std::string> set_checkpoint_aside() const = 0;
  /// See OriginalMacFiles::read().
  virtual Result<std::vector<OriginalMac>> read_original_macs() const = 0;
  /// See OriginalSettingsFiles::read().
  virtual Result<std::vector<OriginalSettings>> read_original_settings() const {
    return std::vector<OriginalSettings>();
  }
  /// Returns the names of files; empty if the directory does not exist.
  virtual Result<std::vector<std::string>> names_in(const std::string& directory) const = 0;
  /// Returns the ids of the specs of that kind; reads one of them.
  virtual Result<std::vector<std::string>> spec_ids(const std::string& kind) const = 0;
  virtual Result<cdi::Spec> read_spec(const std::string& kind, const std::string& id) const = 0;
  /// Returns the driver's device metadata files.
  virtual Result<std::vector<MetadataFile>> metadata_files(const std::string& driver) const = 0;
};

}  // namespace sliced::kubelet
