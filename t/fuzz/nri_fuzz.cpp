// What a container runtime says: the multiplexer, ttrpc's frames, NRI's messages; and all of it to a plugin.
#include <optional>

#include "kubelet/nri/frames.h"
#include "kubelet/nri/mux.h"
#include "kubelet/nri/plugin.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/fake_wire.h"
#include "t/fake/memory_log.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::nri_target {

namespace {

struct Agrees final : nri::Hooks {
  void synchronize(std::vector<nri::PodSandbox> pods, std::vector<nri::Container>,
                   nri::Reply reply) override {
    for (const auto& pod : pods) check(pod);
    reply.agree();
  }
  void run_pod_sandbox(nri::PodSandbox pod, nri::Reply reply) override {
    check(pod);
    kept.push_back(std::move(reply));
  }
  void stop_pod_sandbox(nri::PodSandbox, nri::Reply reply) override { reply.agree(); }
  void remove_pod_sandbox(nri::PodSandbox, nri::Reply) override {}
  void create_container(nri::PodSandbox, nri::Container container, nri::Reply reply) override {
    for (const auto& device : container.cdi_devices) fuzz::must(is_utf8(device), "a device's name is text");
    reply.refuse({Errc::kIo, container.name});
  }
  static void check(const nri::PodSandbox& pod) {
    for (const std::string* text :
         {&pod.id, &pod.name, &pod.namespace_name, &pod.uid, &pod.network_namespace})
      fuzz::must(is_utf8(*text), "what is told of a pod is text", *text);
  }
  std::vector<nri::Reply> kept;
};

// A runtime reads what the plugin sends: pieces that fit its buffer, frames, messages that are text.
void check_sent(std::string_view sent) {
  nri::PieceReader pieces;
  nri::FrameReader frames[3];
  pieces.add(sent);
  for (auto next = pieces.next();; next = pieces.next()) {
    fuzz::must(next.ok(), "what we send is readable");
    if (!*next) break;
    fuzz::must((*next)->connection <= 2 && (*next)->bytes.size() <= 4096, "pieces fit");
    nri::FrameReader& reader = frames[(*next)->connection];
    reader.add((*next)->bytes);
    while (const auto frame = reader.next()) {
      if (frame->type != nri::FrameType::kResponse) continue;
      const auto response = nri::decode_response(frame->data);
      fuzz::must(response.ok(), "what we answer is a response");
      fuzz::check_text(response->status.message);
    }
  }
}

void tell_a_plugin(std::string_view bytes) {
  fake::FakeScheduler scheduler;
  fake::FakeDials dials(scheduler);
  fake::MemoryLog log;
  Agrees hooks;
  nri::Plugin plugin(
      scheduler, [] { return 0.0; }, log,
      [&](auto then) { return dials.dial({}, Millis{0}, std::move(then)); }, {}, hooks);
  scheduler.advance(Millis{0});
  scheduler.advance(Millis{0});
  const auto wire = dials.wires.at(0);
  wire->say(std::string(bytes));
  scheduler.advance(Millis{3'000});
  for (nri::Reply& reply : hooks.kept) fuzz::must(!reply.agree(), "nobody waits after the deadline");
  check_sent(wire->sent);
  fuzz::check_text(plugin.link().why_not);
}

template <class T>
void check_outcome(const Result<T>& outcome) {
  if (!outcome) fuzz::check(outcome.error());
}

}  // namespace

FUZZ_TARGET(nri) {
  fuzz::Input input(data, size);
  switch (input.byte() % 6) {
    case 0:
      tell_a_plugin(input.rest);
      break;
    case 1: {  // calls to the plugin alone: a method's number, then its message, up to a line's end
      std::string bytes;
      constexpr const char* kMethods[] = {"Configure",      "Synchronize",     "RunPodSandbox",
                                          "StopPodSandbox", "CreateContainer", "RemovePodSandbox"};
      for (uint32_t stream = 1; !input.rest.empty(); stream += 2) {
        const char* method = kMethods[input.byte() % 6];
        bytes += nri::encode_pieces(
            nri::kPluginConnection,
            nri::encode_frame({.stream = stream,
                               .data = nri::encode_request({.service = "nri.pkg.api.v1alpha1.Plugin",
                                                            .method = method,
                                                            .payload = std::string(input.until('\n'))})}));
      }
      tell_a_plugin(bytes);
      break;
    }
    case 2:
      check_outcome(nri::decode_request(input.rest));
      break;
    case 3:
      check_outcome(nri::decode_response(input.rest));
      break;
    case 4:
      check_outcome(nri::decode_synchronize(input.rest));
      break;
    default:
      check_outcome(nri::decode_sandbox_call(input.rest));
      check_outcome(nri::decode_configure(input.rest));
  }
  return 0;
}

}  // namespace sliced::fuzz::nri_target
