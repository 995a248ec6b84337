#include "kubelet/nri/messages.h"

#include <algorithm>
#include <chrono>

#include "kubelet/nri/proto/nri.pb-c.h"
#include "kubelet/nri/proto/ttrpc.pb-c.h"
#include "kubelet/proto/unpack.h"
#include "reactor/base/text.h"

namespace sliced::nri {
namespace {

using proto::borrowed;
using proto::borrowed_bytes;

constexpr size_t kStatusTextMax = 1024, kNameTextMax = 256;
constexpr Millis kTimeoutMax{600'000};  // longer timeouts are unusual, and larger numbers overflow

Millis bounded(int64_t millis) { return Millis{std::clamp<int64_t>(millis, 0, kTimeoutMax.count())}; }

// Valid identifiers and paths contain no escaped bytes, so an escaped text matches none.
std::string text(const char* value) {
  std::string raw = proto::text(value);
  return is_utf8(raw) ? raw : escaped(raw, raw.size() * 4);
}

PodSandbox sandbox_of(const Sliced__Nri__PodSandbox& from) {
  PodSandbox pod{.id = text(from.id),
                 .name = text(from.name),
                 .namespace_name = text(from.namespace_),
                 .uid = text(from.uid)};
  for (size_t i = 0; i < from.n_ips; ++i) pod.ips.push_back(text(from.ips[i]));
  for (size_t i = 0; from.on_linux != nullptr && i < from.on_linux->n_namespaces; ++i) {
    const Sliced__Nri__LinuxNamespace& space = *from.on_linux->namespaces[i];
    if (proto::text(space.type) == "network") pod.network_namespace = text(space.path);
  }
  return pod;
}

Container container_of(const Sliced__Nri__Container& from) {
  Container container{.id = text(from.id),
                      .sandbox_id = text(from.pod_sandbox_id),
                      .name = text(from.name),
                      .state = static_cast<ContainerState>(from.state)};
  for (size_t i = 0; i < from.n_cdi_devices; ++i)
    container.cdi_devices.push_back(text(from.cdi_devices[i]->name));
  return container;
}

size_t bytes_of(const std::vector<std::string>& texts) {
  size_t bytes = 0;
  for (const std::string& one : texts) bytes += sizeof(std::string) + one.size();
  return bytes;
}

template <class Value>
Result<Value> bounded_value(Value value, const char* what, size_t bytes_max) {
  if (const size_t bytes = bytes_of(value); bytes > bytes_max)
    return Error{Errc::kTooLarge, std::string(what) + " " + in_quotes(value.id, 64) + " has " +
                                      std::to_string(bytes) + " bytes, at most " + std::to_string(bytes_max) +
                                      " are kept"};
  return value;
}

Result<PodSandbox> decode_sandbox(const Sliced__Nri__PodSandbox& from) {
  return bounded_value(sandbox_of(from), "pod sandbox", kSandboxBytesMax);
}

Result<Container> decode_container(const Sliced__Nri__Container& from) {
  return bounded_value(container_of(from), "container", kContainerBytesMax);
}

}  // namespace

size_t bytes_of(const PodSandbox& pod) {
  return sizeof pod + pod.id.size() + pod.name.size() + pod.namespace_name.size() + pod.uid.size() +
         pod.network_namespace.size() + bytes_of(pod.ips);
}

size_t bytes_of(const Container& container) {
  return sizeof container + container.id.size() + container.sandbox_id.size() + container.name.size() +
         bytes_of(container.cdi_devices);
}

std::string encode_request(const Request& request) {
  Sliced__Ttrpc__Request raw = SLICED__TTRPC__REQUEST__INIT;
  raw.service = borrowed(request.service);
  raw.method = borrowed(request.method);
  raw.payload = borrowed_bytes(request.payload);
  raw.timeout_nano = std::chrono::nanoseconds(request.timeout).count();
  return proto::packed(raw);
}

Result<Request> decode_request(std::string_view bytes) {
  auto raw =
      proto::unpack<Sliced__Ttrpc__Request>(sliced__ttrpc__request__descriptor, bytes, kMessageMemoryMax);
  if (!raw) return std::move(raw.error());
  // Half a millisecond is a deadline too.
  const int64_t nanos = (*raw)->timeout_nano;
  return Request{.service = text((*raw)->service),
                 .method = text((*raw)->method),
                 .payload = std::string(proto::bytes_of((*raw)->payload)),
                 .timeout = bounded(nanos > 0 ? std::max<int64_t>(nanos / 1'000'000, 1) : 0)};
}

std::string encode_response(const Response& response) {
  // Go refuses a string that is not UTF-8.
  const std::string message = printable(response.status.message, kStatusTextMax);
  Sliced__Ttrpc__Status status = SLICED__TTRPC__STATUS__INIT;
  status.code = static_cast<int32_t>(response.status.code);
  status.message = borrowed(message);
  Sliced__Ttrpc__Response raw = SLICED__TTRPC__RESPONSE__INIT;
  if (response.status.code != Code::kOk) raw.status = &status;
  raw.payload = borrowed_bytes(response.payload);
  return proto::packed(raw);
}

Result<Response> decode_response(std::string_view bytes) {
  auto raw =
      proto::unpack<Sliced__Ttrpc__Response>(sliced__ttrpc__response__descriptor, bytes, kMessageMemoryMax);
  if (!raw) return std::move(raw.error());
  Response response{.payload = std::string(proto::bytes_of((*raw)->payload))};
  if (const Sliced__Ttrpc__Status* status = (*raw)->status)
    response.status = {static_cast<Code>(status->code),
                       printable(proto::text(status->message), kStatusTextMax)};
  return response;
}

std::string encode_register(std::string_view name, std::string_view index, std::string_view version) {
  const std::string own_name(name), own_index(index), own_version(version);
  Sliced__Nri__RegisterPluginRequest raw = SLICED__NRI__REGISTER_PLUGIN_REQUEST__INIT;
  raw.plugin_name = borrowed(own_name);
  raw.plugin_idx = borrowed(own_index);
  raw.nri_version = borrowed(own_version);
  return proto::packed(raw);
}

std::string encode_configure_answer(int32_t events) {
  Sliced__Nri__ConfigureResponse raw = SLICED__NRI__CONFIGURE_RESPONSE__INIT;
  raw.events = events;
  return proto::packed(raw);
}

std::string encode_synchronize_answer(bool more) {
  Sliced__Nri__SynchronizeResponse raw = SLICED__NRI__SYNCHRONIZE_RESPONSE__INIT;
  raw.more = more;
  return proto::packed(raw);
}

Result<Configure> decode_configure(std::string_view bytes) {
  auto raw = proto::unpack<Sliced__Nri__ConfigureRequest>(sliced__nri__configure_request__descriptor, bytes,
                                                          kMessageMemoryMax);
  if (!raw) return std::move(raw.error());
  return Configure{.runtime_name = printable(proto::text((*raw)->runtime_name), kNameTextMax),
                   .runtime_version = printable(proto::text((*raw)->runtime_version), kNameTextMax),
                   .nri_version = printable(proto::text((*raw)->nri_version), kNameTextMax),
                   .request_timeout = bounded((*raw)->request_timeout)};
}

Result<Synchronize> decode_synchronize(std::string_view bytes) {
  auto raw = proto::unpack<Sliced__Nri__SynchronizeRequest>(sliced__nri__synchronize_request__descriptor,
                                                            bytes, kMessageMemoryMax);
  if (!raw) return std::move(raw.error());
  Synchronize all{.more = (*raw)->more != 0};
  for (size_t i = 0; i < (*raw)->n_pods; ++i) {
    auto pod = decode_sandbox(*(*raw)->pods[i]);
    if (!pod) return std::move(pod.error());
    all.pods.push_back(*std::move(pod));
  }
  for (size_t i = 0; i < (*raw)->n_containers; ++i) {
    auto container = decode_container(*(*raw)->containers[i]);
    if (!container) return std::move(container.error());
    all.containers.push_back(*std::move(container));
  }
  return all;
}

Result<SandboxCall> decode_sandbox_call(std::string_view bytes) {
  auto raw = proto::unpack<Sliced__Nri__SandboxRequest>(sliced__nri__sandbox_request__descriptor, bytes,
                                                        kMessageMemoryMax);
  if (!raw) return std::move(raw.error());
  if ((*raw)->pod == nullptr) return Error{Errc::kInvalid, "a call about a sandbox names none"};
  auto pod = decode_sandbox(*(*raw)->pod);
  if (!pod) return std::move(pod.error());
  SandboxCall call{.pod = *std::move(pod)};
  if ((*raw)->container == nullptr) return call;
  auto container = decode_container(*(*raw)->container);
  if (!container) return std::move(container.error());
  call.container = *std::move(container);
  return call;
}

}  // namespace sliced::nri
