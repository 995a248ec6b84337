#pragma once
// What a device that a claim has alone was like before its pod: the settings that a PF keeps for a VF, and its interface on the host. One
// small file per device, beside the checkpoint and independent of it. Written and synced before anything of the device is
// changed, removed once the device is as it was. So neither a CNI plugin whose DEL does nothing, nor a record that is lost, leaves one
// pod's settings to the next pod.
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

namespace sliced::kubelet {

struct OriginalInterface {
  std::string name;
  std::string mac;  // "aa:bb:.."; "" none, or no Ethernet address
  int mtu = 0;
  bool is_up = false, is_promisc = false, is_allmulti = false;
  /// Everything else of the device is as it was; only the name could not be restored, and is tried again while no claim has the device.
  bool is_name_only = false;
  /// nullopt: unknown, and not restored (a file of an earlier version; text that is too long, or not UTF-8).
  std::optional<std::vector<std::string>> alternative_names = {};
  std::optional<std::string> alias = {};
  LinkNumbers numbers = {};  // those that are known
  std::optional<XdpPrograms> xdp = {};
  bool operator==(const OriginalInterface&) const = default;
};

/// A VF of a PF that a claim has alone.
struct OriginalVf {
  hotplug::VfConfig config;  // as the PF reports it
  OwnAddresses own = {};
  bool operator==(const OriginalVf&) const = default;
};

struct OriginalSettings {
  std::string device;    // PCI address, or the name of a virtual link
  std::string pf = {};   // of a VF: its PF's address; "" none
  std::string boot_id;   // functions are made anew by each boot; "" unknown
  bool is_known = true;  // false: nothing read later takes its place
  std::optional<hotplug::VfConfig>
      vf;  // as the PF reports it; nullopt: no VF, or its PF reports nothing of it
  std::optional<OriginalInterface> interface;  // nullopt: it had none here, or nothing moves it
  /// Of an unknown one: what the PF reported when the device was given back, which may be a pod's; nullopt: it was not given back. Once the PF
  /// reports anything else, the host has set it, and that is known again.
  std::optional<hotplug::VfConfig> left = {};
  OwnAddresses own = {};  // also where nothing moves its interface
  /// Of a PF: all its VFs by number, since who has the PF's interface can change them. A number that no longer exists is skipped. A VF
  /// that was created again under its number is restored too: the claim could change it through the PF, and the settings that the host gave it
  /// are unknown. Empty where the claim's interfaces are created on the PF, which stays on the host.
  std::map<int, OriginalVf> vfs = {};
  /// Uid of the claim that the device was prepared for: no other claim's end writes these settings. "" of an earlier version.
  std::string claim = {};
  bool operator==(const OriginalSettings&) const = default;
};
/// What came of restoring them.
struct RestoredSettings {
  bool is_back = true;  // false: its interface is not on the host yet
  std::string name_problem =
      {};  // why its interface could not have its names, with the remedy; "" it has them
};
inline constexpr std::string_view kInterfaceIsAway = "its interface is not back from its last pod";
using OriginalSettingsByDevice = std::map<std::string, OriginalSettings>;

/// One line of JSON with a version and a checksum. Errors of decoding: kInvalid, kTooLarge.
std::string encode_original_settings(const OriginalSettings& value);
Result<OriginalSettings> decode_original_settings(std::string_view text);

/// "device 0000:03:00.2: original VF settings unknown: ..." with the remedy.
std::string unknown_settings_text(const OriginalSettings& one);

/// Devices of no claim that do not have their original settings back: preparing them, and with VFs of a PF what excludes them, fails
/// until the daemon has restored these. problems: by OriginalSettings::device, why the last try failed. In order of device.
policy::NotReturnedDevices unrestored_of(const OriginalSettingsByDevice& settings,
                                         const PreparedClaims& prepared,
                                         const std::map<std::string, std::string>& problems);
/// Whether a claim has the device, by OriginalSettings::device; claims with adminAccess do not count.
bool is_prepared(const PreparedClaims& prepared, const std::string& device);

/// The directory of these files, which is nobody else's. Every call blocks, and is for a worker.
/// Threads: const, safe from workers; two calls about one device come one after the other.
class OriginalSettingsFiles {
 public:
  static constexpr size_t kFilesMax = 65'536;
  explicit OriginalSettingsFiles(std::string directory) : directory_(std::move(directory)) {}

  /// What is kept, in order. A file that cannot be understood is kept too: as one of its device that is unknown.
  /// Errors: of the directory (kDenied, kIo, kTooLarge). No directory: none.
  Result<std::vector<OriginalSettings>> read() const;
  /// On disk when it returns. Errors: kInvalid for a text that names no device, kDenied, kIo.
  Result<Unit> write(const OriginalSettings& value) const;
  /// One that is not there is no error.
  Result<Unit> remove(const std::string& device) const;
  /// What a writer that was killed left. Requires: nothing is written meanwhile.
  Result<Unit> remove_temporaries() const;

 private:
  Result<std::string> path_of(const std::string& device) const;
  const std::string directory_;
};

}  // namespace sliced::kubelet
