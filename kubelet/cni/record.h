#pragma once
// Persistent records of attachments, written before ADD begins and again with its result. A record contains
// everything that DEL requires, because the definition may be deleted or edited, and the pod may be gone.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/cni/network.h"

namespace sliced::cni {

/// The interface on the host that the plugins may move into the sandbox.
struct HostInterface {
  std::string name;
  std::string kind;              // IFLA_INFO_KIND: "vlan", "bond"; "" for a PCI function
  int ifindex_in_pod = 0;        // set after ADD moved it; 0 if unknown
  std::string rdma_device = {};  // moves with it; "" if none
  int rdma_index = -1;           // its index, which stays the same; -1 if none
  bool operator==(const HostInterface&) const = default;
};

/// The sandbox may no longer exist when this is read; DEL then runs without its namespace.
struct Record {
  std::string config;   // input of ADD: spec.config with the fields that sliced sets
  std::string network;  // the name for a config without one
  Attachment attachment;
  std::optional<Attached> result;  // nullopt: ADD started, and may have made any changes
  std::string owner = {};          // the claim's device, as a text of the creator; "" if not recorded
  /// "NetworkAttachmentDefinition red/net", written by a user of its namespace; "" if an administrator's, or
  /// unknown.
  std::string users_definition = {};
  /// For a device that the sandbox holds exclusively; nullopt if it is shared, or had no interface on the
  /// host.
  std::optional<HostInterface> host_interface = {};
  /// ifindex in the sandbox of the interface that sliced created; 0 if unknown or none.
  int made_ifindex = 0;
  /// Sysctls of the host below /proc/sys that ADD changes and that are not restored yet:
  /// "net/ipv6/conf/br0/accept_ra" to "1".
  std::map<std::string, std::string> host_sysctls = {};
  /// hardware_of() the device (kubelet/hardware.h), also of a shared one; "" for a virtual link, and if not
  /// recorded.
  std::string hardware = {};
  bool operator==(const Record&) const = default;
};

/// JSON with a version and a checksum. Errors of decoding: kInvalid, kTooLarge. The checksum (FNV-1a) detects
/// damage by a disk or an editor. It does not prevent forgery: only root can write the directory.
std::string encode_record(const Record& record);
Result<Record> decode_record(std::string_view text);

/// The directory of records; sliced owns it. Every call blocks; for a worker. Threads: const, safe on
/// workers; the caller serializes calls about one attachment.
class Records {
 public:
  static constexpr size_t kRecordsMax = 16'384;

  explicit Records(std::string directory) : directory_(std::move(directory)) {}

  /// Writes and syncs, so that the DEL of a CNI plugin also runs after a power failure. The record of a
  /// native attachment is not synced, because a power failure removes the attachment itself. Creates a
  /// missing directory.
  Result<Unit> write(const Record& record) const;
  /// A missing record is not an error.
  Result<Unit> remove(const Attachment& attachment) const;
  struct All {
    std::vector<Record> records;      // sorted by file name
    std::vector<std::string> broken;  // why a file is not a valid record, one text per file; the files are
                                      // kept
  };
  /// Returns the records of one sandbox, or of all (""). Empty if the directory does not exist. Skips a file
  /// that is removed meanwhile, and an empty one, which a power failure makes of an unsynced record. Errors:
  /// of the directory only (kDenied, kIo, kTooLarge above kRecordsMax).
  Result<All> read(std::string_view container_id) const;
  /// Removes empty files, and temporary files that killed writers left. Requires: no writer runs. Errors:
  /// kDenied, kIo.
  Result<Unit> remove_temporaries() const;

 private:
  const std::string directory_;
};

/// Returns the record's file name, which depends only on sandbox and interface.
std::string record_name(const Attachment& attachment);

}  // namespace sliced::cni
