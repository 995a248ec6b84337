#pragma once
// The settings of a device before the pod of a claim that holds it exclusively: those that a PF keeps for a
// VF, and those of its interface on the host. One small file per device, independent of the checkpoint. It is
// written and synced before any change of the device, and removed after the device is restored. So neither a
// CNI plugin whose DEL does nothing nor a lost record passes the settings of one pod to the next.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "kubelet/host_link.h"
#include "kubelet/prepared.h"
#include "kubelet/vf_settings.h"
#include "policy/not_returned.h"
#include "reactor/base/result.h"
#include "reactor/durable_file.h"

namespace sliced::kubelet {

struct OriginalInterface {
  std::string name;
  std::string mac;  // "aa:bb:.."; "" if none, or not an Ethernet address
  int mtu = 0;
  bool is_up = false, is_promisc = false, is_allmulti = false;
  /// All other settings are restored; only the name is not. It is retried while no claim has the device.
  bool is_name_only = false;
  /// nullopt: unknown, and not restored (a file of an earlier version; a text that is too long or not UTF-8).
  std::optional<std::vector<std::string>> alternative_names = {};
  std::optional<std::string> alias = {};
  LinkNumbers numbers = {};  // those that are known
  std::optional<XdpPrograms> xdp = {};
  std::optional<std::string> broadcast = {};  // "ff:ff:.."
  bool operator==(const OriginalInterface&) const = default;
};

/// A VF of a PF that a claim holds exclusively.
struct OriginalVf {
  hotplug::VfConfig config;  // as the PF reports it
  OwnAddresses own = {};
  bool operator==(const OriginalVf&) const = default;
};

struct OriginalSettings {
  std::string device;    // PCI address, id of a scalable function, or name of a virtual link
  std::string pf = {};   // PCI address of a VF's PF; "" if none
  std::string boot_id;   // each boot creates new functions; "" if unknown
  bool is_known = true;  // false: unknown; a later reading does not replace it
  std::optional<hotplug::VfConfig>
      vf;  // as the PF reports it; nullopt: not a VF, or its PF reports nothing about it
  std::optional<OriginalInterface> interface;  // nullopt: it had none here, or nothing moves it
  /// If the original is unknown: the settings that the PF reported when the device was returned, which may be
  /// a pod's; nullopt if it was not returned yet. If the PF reports others later, the host has set them, and
  /// they become the original.
  std::optional<hotplug::VfConfig> left = {};
  OwnAddresses own = {};  // also if nothing moves its interface
  /// For a PF: all its VFs by number, because a pod with the PF's interface can change them. A number that no
  /// longer exists is skipped. A VF that was created again under its number is restored too: the claim could
  /// change it through the PF, and the settings that the host gave it are unknown. Empty if the claim's
  /// interfaces are created on the PF, which stays on the host.
  std::map<int, OriginalVf> vfs = {};
  /// Uid of the claim for which the device was prepared. The end of another claim does not restore these
  /// settings. "" in files of earlier versions.
  std::string claim = {};
  /// The claim has ended, and the device could not be restored yet. If false, the file of a device of no
  /// claim is only left over: a daemon was killed before it removed the file, or before it prepared the
  /// claim. True in files of earlier versions, which do not say.
  bool is_unrestored = false;
  bool operator==(const OriginalSettings&) const = default;
};
/// The result of restoring.
struct RestoredSettings {
  bool is_back = true;            // false: its interface is not on the host yet
  std::string name_problem = {};  // why its interface did not get its names, with the remedy; "" if it did
};
inline constexpr std::string_view kInterfaceIsAway = "its interface is not back from its last pod";
using OriginalSettingsByDevice = std::map<std::string, OriginalSettings>;

/// One line of JSON with a version and a checksum. Errors of decoding: kInvalid, kTooLarge.
std::string encode_original_settings(const OriginalSettings& value);
Result<OriginalSettings> decode_original_settings(std::string_view text);

/// Returns "device 0000:03:00.2: original VF settings unknown: ..." with the remedy.
std::string unknown_settings_text(const OriginalSettings& one);

/// Returns the devices of no claim whose settings are not restored yet, sorted by device. Preparing them
/// fails until the daemon has restored these; with settings of a PF's VFs, also preparing the entries that
/// exclude them. problems: why the last attempt failed, by OriginalSettings::device.
policy::NotReturnedDevices unrestored_of(const OriginalSettingsByDevice& settings,
                                         const PreparedClaims& prepared,
                                         const std::map<std::string, std::string>& problems);
/// Returns whether a claim has the device (OriginalSettings::device). Claims with adminAccess do not count.
bool is_prepared(const PreparedClaims& prepared, const std::string& device);

/// The directory of these files; sliced owns it. Every call blocks; for a worker. Threads: const, safe on
/// workers; the caller serializes calls about one device.
class OriginalSettingsFiles {
 public:
  static constexpr size_t kFilesMax = 65'536;
  explicit OriginalSettingsFiles(std::string directory) : directory_(std::move(directory)) {}

  /// Returns all files, sorted. A file that cannot be decoded counts as unknown settings of its device. A
  /// missing directory is empty. Errors: of the directory (kDenied, kIo, kTooLarge).
  Result<std::vector<OriginalSettings>> read() const;
  /// Writes and syncs. Errors: kInvalid for a text that names no device, kDenied, kIo.
  Result<Unit> write(const OriginalSettings& value) const;
  /// Returns the file without writing it, for callers that write several at a time.
  Result<reactor::DurableFile> file_of(const OriginalSettings& value) const;
  /// A missing file is not an error.
  Result<Unit> remove(const std::string& device) const;
  /// Removes temporary files that a killed writer left. Requires: no writer runs.
  Result<Unit> remove_temporaries() const;

 private:
  Result<std::string> path_of(const std::string& device) const;
  const std::string directory_;
};

}  // namespace sliced::kubelet
