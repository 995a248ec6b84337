#pragma once
// What must be undone, on disk: an attachment with its network, written before ADD begins and again with what
// ADD has made. DEL needs nothing else: neither the definition, which may be gone or edited, nor the pod.
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
  std::string kind;              // IFLA_INFO_KIND: "vlan", "bond"; "" of a PCI function
  int ifindex_in_pod = 0;        // since ADD has moved it; 0 unknown
  std::string rdma_device = {};  // that moves with it; "" none
  int rdma_index = -1;           // its number, which stays the same; -1 none
  bool operator==(const HostInterface&) const = default;
};

/// The interface's sandbox may be gone when this is read: DEL is then run without its namespace.
struct Record {
  std::string config;   // what ADD was given: spec.config with what is set for the host's sake
  std::string network;  // the name for a config without one
  Attachment attachment;
  std::optional<Attached> result;  // nullopt: ADD has begun, and may have done anything
  std::string owner = {};          // whose it is, in words of who has it made; "" not said
  /// "NetworkAttachmentDefinition red/net", written by a user of its namespace; "" an administrator's, or not known.
  std::string users_definition = {};
  /// Of a device that the sandbox has alone; nullopt: others have it, too, or it had no interface on the host.
  std::optional<HostInterface> host_interface = {};
  /// Number in the sandbox of the interface that sliced has made there, since ADD; 0 unknown, or none is made.
  int made_ifindex = 0;
  /// Of the host, below /proc/sys, which ADD changes and which are not as before yet: "net/ipv6/conf/br0/accept_ra" to "1".
  std::map<std::string, std::string> host_sysctls = {};
  bool operator==(const Record&) const = default;
};

/// JSON with a version and a checksum. Errors of decoding: kInvalid, kTooLarge.
/// The checksum (FNV-1a) finds what a disk or an editor has spoilt; it is no proof against who wants to forge
/// one: the directory is root's.
std::string encode_record(const Record& record);
Result<Record> decode_record(std::string_view text);

/// The records' directory, which is nobody else's. Every call blocks, and is for a worker.
/// Threads: const, safe from workers; two calls about one attachment come one after the other.
class Records {
 public:
  static constexpr size_t kRecordsMax = 16'384;

  explicit Records(std::string directory) : directory_(std::move(directory)) {}

  /// On disk when it returns, so that the DEL of a CNI plugin is run also after a power cut. The record of a native attachment, of which a power
  /// cut leaves nothing but the record, is not synced. The directory is made where it is missing.
  Result<Unit> write(const Record& record) const;
  /// One that is not there is no error.
  Result<Unit> remove(const Attachment& attachment) const;
  struct All {
    std::vector<Record> records;      // sorted by file name
    std::vector<std::string> broken;  // why a file is no record, one text a file; they stay where they are
  };
  /// Of one sandbox, or of all ("").
  /// Errors: of the directory alone (kDenied, kIo, kTooLarge above kRecordsMax); none where it does not
  /// exist. A file that goes while it is read is passed over, and so is an empty one: a power cut makes one of a record that was not synced.
  Result<All> read(std::string_view container_id) const;
  /// Removes empty files, and what writers left when they were killed. Requires: no record is written meanwhile. Errors: kDenied, kIo.
  Result<Unit> remove_temporaries() const;

 private:
  const std::string directory_;
};

/// Of an attachment's record: the same for the same sandbox and interface.
std::string record_name(const Attachment& attachment);

}  // namespace sliced::cni
