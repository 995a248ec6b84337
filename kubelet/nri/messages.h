#pragma once
// Messages of ttrpc and NRI as values. Decoding uses at most kMessageMemoryMax of memory per message. All
// texts are UTF-8; invalid bytes are escaped.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"
#include "reactor/base/time.h"

namespace sliced::nri {

/// Limit of a decoded message, which can be much larger than the frame's 4 MiB (kubelet/proto/unpack.h).
inline constexpr size_t kMessageMemoryMax = 48u << 20;

/// The gRPC codes that are used here (google/rpc/code.proto). Other numbers are kept.
enum class Code : int32_t {
  kOk = 0,
  kUnknown = 2,  // Go servers use it for an error without a code
  kInvalidArgument = 3,
  kResourceExhausted = 8,
  kAborted = 10,
  kUnimplemented = 12,
  kInternal = 13,
};

struct Status {
  Code code = Code::kOk;
  std::string message;  // for people
  bool operator==(const Status&) const = default;
};

/// One call of ttrpc (its request.proto): payload is the encoded message of the service. Timeouts are rounded
/// up to 1 ms, and limited to ten minutes. service: such as "nri.pkg.api.v1alpha1.Plugin"; method: its last
/// word.
struct Request {
  std::string service, method, payload;
  Millis timeout{0};  // the caller's timeout; 0: not set
};
/// payload: "" unless the status is kOk. It answers the request of the same stream (nri/connection.h), whose
/// number is not part of it.
struct Response {
  Status status;
  std::string payload;
};

/// Encoding cannot fail. Errors of decoding: kInvalid, as below.
std::string encode_request(const Request& request);
Result<Request> decode_request(std::string_view bytes);
/// Truncates the status' message to 1 KiB.
std::string encode_response(const Response& response);
Result<Response> decode_response(std::string_view bytes);

/// A pod's sandbox, from the runtime. Texts are UTF-8 with invalid bytes escaped, so an invalid name matches
/// no Kubernetes name. network_namespace: the last one of several; runtimes send one.
struct PodSandbox {
  std::string id;                         // the CNI's container id
  std::string name, namespace_name, uid;  // of the pod
  std::string
      network_namespace;  // path of the file; "" in the host's network, and for a sandbox that has ended
  std::vector<std::string> ips;  // of the pod's own network
  bool operator==(const PodSandbox&) const = default;
};

/// Values of api.proto.
enum class ContainerState : int32_t { kUnknown = 0, kCreated = 1, kPaused = 2, kRunning = 3, kStopped = 4 };

struct Container {
  std::string id, sandbox_id, name;
  ContainerState state = ContainerState::kUnknown;  // unvalidated: may be a value without a name here
  std::vector<std::string> cdi_devices;             // qualified names; empty from containerd before 2.0
  bool operator==(const Container&) const = default;
};

/// Memory limits for one sandbox and one container: about a hundred times the usual size.
inline constexpr size_t kSandboxBytesMax = 64u << 10, kContainerBytesMax = 256u << 10;
/// Returns the memory of the value with its texts, in bytes.
size_t bytes_of(const PodSandbox& pod);
size_t bytes_of(const Container& container);

/// The runtime's first message. request_timeout is the limit of each answer, not of a pod (plugin.h,
/// Reply::deadline).
struct Configure {
  std::string runtime_name, runtime_version, nri_version;
  Millis request_timeout{0};  // for each call to the plugin; 0: not set
};

/// The existing sandboxes and containers after a connection. If they are too large for one frame, they come
/// in parts; `more` in the answer confirms that another part is expected. Containers refer to their sandbox
/// by id, which may be in an earlier part.
struct Synchronize {
  std::vector<PodSandbox> pods;
  std::vector<Container> containers;
  bool more = false;  // another part follows
};

/// The message of RunPodSandbox, StopPodSandbox, RemovePodSandbox and, with the container, CreateContainer.
/// container: empty except in CreateContainer.
struct SandboxCall {
  PodSandbox pod;
  Container container;
};

/// Events of a plugin's subscription, as bits (api.proto, enum Event; bit 0 is event 1).
inline constexpr int32_t kSandboxAndCreateEvents = 0b1111;

// Encoders of sent messages, and decoders of received ones. name and index: of the options
// (--nri-plugin-name, --nri-plugin-index); version: sliced's, for the runtime's log. Unknown fields are
// ignored. Errors of decoding: kInvalid (not such a message, or more memory than kMessageMemoryMax);
// kTooLarge (a sandbox or container above kSandboxBytesMax or kContainerBytesMax).
std::string encode_register(std::string_view name, std::string_view index, std::string_view version);
std::string encode_configure_answer(int32_t events);
std::string encode_synchronize_answer(bool more);
Result<Configure> decode_configure(std::string_view bytes);
Result<Synchronize> decode_synchronize(std::string_view bytes);
Result<SandboxCall> decode_sandbox_call(std::string_view bytes);

}  // namespace sliced::nri
