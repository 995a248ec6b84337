// The room nri/ as a program, for the Go test above it: connects to the socket that it is given and prints what
// it is told, a line each. The names of pods say what it does about them:
//   late      answers RunPodSandbox never
//   refused   refuses CreateContainer
#include <cstdio>
#include <string>
#include <vector>

#include "kubelet/nri/plugin.h"
#include "reactor/loop.h"
#include "reactor/net/unix_stream.h"

using namespace sliced;

namespace {

template <class... Parts>
void say(const Parts&... parts) {
  ((std::fputs(std::string(parts).c_str(), stdout)), ...);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

class Told final : public nri::Hooks {
 public:
  const nri::Plugin* plugin = nullptr;

  void synchronize(std::vector<nri::PodSandbox> pods, std::vector<nri::Container> containers,
                   nri::Reply reply) override {
    say("synchronize pods=", std::to_string(pods.size()), " containers=", std::to_string(containers.size()));
    for (const auto& pod : pods) tell("pod", pod);
    for (const auto& container : containers) tell(container);
    reply.agree();
  }
  void run_pod_sandbox(nri::PodSandbox pod, nri::Reply reply) override {
    tell("run", pod);
    if (pod.name == "late") return kept_.push_back(std::move(reply));
    reply.agree();
  }
  void stop_pod_sandbox(nri::PodSandbox pod, nri::Reply reply) override {
    tell("stop", pod);
    for (nri::Reply& late : kept_) say("taken ", late.agree() ? "yes" : "no");
    kept_.clear();
    reply.agree();
  }
  void remove_pod_sandbox(nri::PodSandbox pod, nri::Reply reply) override {
    tell("remove", pod);
    reply.agree();
  }
  void create_container(nri::PodSandbox pod, nri::Container container, nri::Reply reply) override {
    tell("create", pod);
    tell(container);
    if (pod.name == "refused")
      reply.refuse({Errc::kIo, "the interface of pod refused is not there yet \xff"});
    else
      reply.agree();
  }
  void link_changed() override {
    say("link ", plugin->link().is_up ? "up" : "down: " + plugin->link().why_not);
  }

 private:
  static void tell(const char* what, const nri::PodSandbox& pod) {
    std::string ips;
    for (const auto& ip : pod.ips) ips += "," + ip;
    say(what, " ", pod.id, " ", pod.namespace_name, "/", pod.name, " ", pod.uid,
        " netns=", pod.network_namespace, " ips=", ips);
  }
  static void tell(const nri::Container& container) {
    std::string devices;
    for (const auto& device : container.cdi_devices) devices += "," + device;
    say("container ", container.id, " of ", container.sandbox_id, " ", container.name,
        " state=", std::to_string(static_cast<int>(container.state)), " cdi=", devices);
  }
  std::vector<nri::Reply> kept_;
};

struct Lines final : Log {
  void line(Level, std::string_view message, std::initializer_list<Field> fields) override {
    std::string text = "log " + std::string(message);
    for (const Field& field : fields) text += " " + std::string(field.key) + "=" + field.value;
    say(text);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("nri_plugin SOCKET\n", stderr), 2;
  const nri::PluginOptions options{.socket = argv[1]};
  reactor::Loop loop;
  Lines log;
  Told told;
  nri::Plugin plugin(
      loop.scheduler(), reactor::system_random(), log,
      [&](reactor::net::OnConnected then) {
        return reactor::net::connect_unix(loop, options.socket, Millis{2'000}, std::move(then));
      },
      options, told);
  told.plugin = &plugin;
  loop.run();
}
