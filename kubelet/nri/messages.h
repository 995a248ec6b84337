#pragma once
// What goes over ttrpc and NRI, as values. Decoding takes at most kMessageMemoryMax of memory a message and
// yields text: bytes that are none are shown escaped.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"
#include "reactor/base/time.h"

namespace sliced::nri {

/// Of what is decoded, whatever the frame's 4 MiB would make of themselves (kubelet/proto/unpack.h).
inline constexpr size_t kMessageMemoryMax = 48u << 20;

/// gRPC's codes, as far as we say them or tell them apart (google/rpc/code.proto).
/// A number that has no name here is kept as it came.
enum class Code : int32_t {
  kOk = 0,
  kUnknown = 2,  // what Go's servers say of an error without a code
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

/// One call of ttrpc (request.proto there): payload is the message of the service, encoded.
/// Of half a millisecond the timeout is 1 ms; of more than ten minutes, ten minutes.
/// service: "nri.pkg.api.v1alpha1.Plugin" and the like; method: its last word.
struct Request {
  std::string service, method, payload;
  Millis timeout{0};  // how long the caller waits; 0: not said
};
/// payload: "" where the status is not kOk.
/// One answers the request of the same stream (nri/connection.h); the number is not in here.
struct Response {
  Status status;
  std::string payload;
};

/// Encoding cannot fail. Decoding: kInvalid, as below.
std::string encode_request(const Request& request);
Result<Request> decode_request(std::string_view bytes);
/// The status' message is cut at 1 KiB.
std::string encode_response(const Response& response);
Result<Response> decode_response(std::string_view bytes);

/// A pod's sandbox, as the runtime knows it.
/// Every text is UTF-8: what was none is escaped, and so matches nothing that Kubernetes has named.
/// network_namespace: of several of that kind the last; runtimes send one.
struct PodSandbox {
  std::string id;                         // the CNI's container id
  std::string name, namespace_name, uid;  // of the pod
  std::string
      network_namespace;  // path of the file; "" in the host's network, and of a sandbox that has ended
  std::vector<std::string> ips;  // of the pod's own network
  bool operator==(const PodSandbox&) const = default;
};

/// As api.proto has them.
enum class ContainerState : int32_t { kUnknown = 0, kCreated = 1, kPaused = 2, kRunning = 3, kStopped = 4 };

struct Container {
  std::string id, sandbox_id, name;
  ContainerState state = ContainerState::kUnknown;  // as it came: it may be one that has no name here
  std::vector<std::string> cdi_devices;             // qualified names; none from containerd before 2.0
  bool operator==(const Container&) const = default;
};

/// Of one sandbox, and of one container, in memory: some hundred times what a runtime sends.
inline constexpr size_t kSandboxBytesMax = 64u << 10, kContainerBytesMax = 256u << 10;
/// Memory of the value with its texts, in bytes.
size_t bytes_of(const PodSandbox& pod);
size_t bytes_of(const Container& container);

/// What the runtime says of itself before anything else.
/// request_timeout is what each of our answers has, and not what a pod has (plugin.h, Reply::deadline).
struct Configure {
  std::string runtime_name, runtime_version, nri_version;
  Millis request_timeout{0};  // for each call to us; 0: not said
};

/// What is there when we connect. It comes in parts where it is too large for one frame, each with what is its
/// own; `more` in our answer says that we have understood that there is another.
/// Containers name their sandbox by id; it may be one that came in an earlier part.
struct Synchronize {
  std::vector<PodSandbox> pods;
  std::vector<Container> containers;
  bool more = false;  // another part follows
};

/// Of RunPodSandbox, StopPodSandbox, RemovePodSandbox and, with the container, CreateContainer.
/// container: all "" but in CreateContainer.
struct SandboxCall {
  PodSandbox pod;
  Container container;
};

/// Events that a plugin wants to hear of, as bits (api.proto, enum Event; bit 0 is event 1).
inline constexpr int32_t kSandboxAndCreateEvents = 0b1111;

// What we say, and what we are told. Errors of decoding: kInvalid (no such message, or one that takes more memory than
// kMessageMemoryMax); kTooLarge (a sandbox or container above kSandboxBytesMax or kContainerBytesMax). Fields that are not named above are passed over.
// name and index: the options' (--nri-plugin-name, --nri-plugin-index); version: ours, for the runtime's log.
std::string encode_register(std::string_view name, std::string_view index, std::string_view version);
std::string encode_configure_answer(int32_t events);
std::string encode_synchronize_answer(bool more);
Result<Configure> decode_configure(std::string_view bytes);
Result<Synchronize> decode_synchronize(std::string_view bytes);
Result<SandboxCall> decode_sandbox_call(std::string_view bytes);

}  // namespace sliced::nri
