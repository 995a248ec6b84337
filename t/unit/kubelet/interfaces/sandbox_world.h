#pragma once
// A node with a container runtime that speaks ttrpc to us, CNI plugins that are shell scripts, and claims that are
// prepared. It lives on while daemons come and go.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "kubelet/interfaces/host_interface.h"
#include "kubelet/interfaces/sandboxes.h"
#include "kubelet/nri/frames.h"
#include "reactor/thread_executor.h"
#include "t/fake/memory_log.h"
#include "t/fixture/loop_fixture.h"
#include "t/unit/kubelet/nri/wire.h"

namespace sliced::kubelet::sandbox_test {

inline constexpr const char* kDriver = "sriovnetwork.k8snetworkplumbingwg.io";
inline constexpr const char* kNetwork = R"({"cniVersion":"1.0.0","name":"net","type":"vf"})";

/// The node: its disk, and the prepared claims.
struct Node {
  Node() {
    std::string pattern = testing::TempDir() + "sandboxes.XXXXXX";
    directory = mkdtemp(pattern.data());
    plugin("vf", "");
  }
  ~Node() { std::filesystem::remove_all(directory); }

  /// A CNI plugin that writes down what it was called for; before it answers it does as the script says.
  void plugin(const std::string& name, const std::string& script) const {
    const std::string path = directory + "/" + name;
    std::ofstream(path) << "#!/bin/sh\ncd " << directory
                        << "\necho \"$CNI_COMMAND $CNI_CONTAINERID $CNI_IFNAME $CNI_NETNS\" >>calls\n"
                        << "cat >input.$CNI_COMMAND.$CNI_IFNAME\n"
                        << script << "\n[ $CNI_COMMAND = ADD ] || exit 0\n"
                        << R"(echo "{\"cniVersion\":\"1.0.0\",\"interfaces\":[{\"name\":\"$CNI_IFNAME\",)"
                        << R"(\"mac\":\"02:00:00:00:00:01\",\"sandbox\":\"$CNI_NETNS\"}],)"
                        << R"(\"ips\":[{\"interface\":0,\"address\":\"10.1.0.7/24\"}]}")" << "\n";
    chmod(path.c_str(), 0755);
  }
  /// The bind mount is gone: the file that it was on is there.
  void lose_mount(const std::string& sandbox) const {
    std::ofstream(directory + "/netns-" + sandbox) << "no namespace";
  }
  std::string text(const std::string& name) const {
    std::ifstream file(directory + "/" + name);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
  void touch(const std::string& name) const { std::ofstream(directory + "/" + name) << ""; }
  void erase(const std::string& name) const { std::filesystem::remove(directory + "/" + name); }
  /// A network namespace's file.
  std::string netns(const std::string& sandbox) const {
    if (!std::filesystem::exists(directory + "/netns-" + sandbox)) touch("netns-" + sandbox);
    return directory + "/netns-" + sandbox;
  }
  /// "ADD a net1" of each call. ADDs for one sandbox run concurrently: consecutive ones are sorted.
  std::vector<std::string> calls() const {
    std::vector<std::string> out;
    std::istringstream lines(text("calls"));
    for (std::string line; std::getline(lines, line);) out.push_back(line.substr(0, line.rfind(' ')));
    const auto sandbox_of = [](const std::string& call) { return call.substr(0, call.rfind(' ')); };
    for (auto first = out.begin(); first != out.end();) {
      const auto last = std::find_if(first, out.end(),
                                     [&](const auto& one) { return sandbox_of(one) != sandbox_of(*first); });
      if (first->starts_with("ADD ")) std::sort(first, last);
      first = last;
    }
    return out;
  }
  /// How often this process has it open.
  size_t open_files(const std::string& name) const {
    size_t count = 0;
    for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      count += std::filesystem::read_symlink(one, gone) == directory + "/" + name ? 1 : 0;
    }
    return count;
  }
  size_t records() const {
    const std::filesystem::path all = directory + "/records";
    if (!std::filesystem::exists(all)) return 0;
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(all), std::filesystem::directory_iterator()));
  }
  /// A claim of the pod with that uid.
  PreparedDevice& prepare(const std::string& pod_uid, const std::string& interface,
                          const std::string& pci = "0000:03:00.2") {
    PreparedClaim claim{.driver = kDriver,
                        .namespace_ = "ns",
                        .name = "claim-" + interface,
                        .uid = "claim-" + pod_uid + "-" + interface,
                        .pods = {{"pod", pod_uid}},
                        .is_complete = true};
    claim.devices.push_back({.request = "vf",
                             .pool = "node-a",
                             .device = "dev-" + interface,
                             .pci = pci,
                             .config = {.if_name = interface, .nad_namespace = "ns", .nad_name = "nad"},
                             .network = kNetwork});
    return (prepared[key_of(claim)] = claim).devices.front();
  }

  std::string directory;
  PreparedClaims prepared;
  std::atomic<bool> is_back = false;  // its devices, once their sandboxes are gone
  std::atomic<bool> cannot_bring_back = false, cannot_restore_names = false;
  std::atomic<bool> cannot_be_prepared = false;
  std::atomic<size_t> brought_back = 0;
  std::function<Result<Unit>(bool is_run)> refresh = {};
  size_t refreshed = 0;
  std::atomic<bool> has_address_of_plugin = false;  // that of plugin(), which sandboxes get
};

/// The daemon's part, over the node. Dropping it is SIGKILL.
struct Daemon {
  // free_time: HookTime; no call of a test is slow, where it says nothing.
  Daemon(reactor::Loop& loop, Node& node, Millis free_time = Millis{3'600'000}, AttachmentBounds bounds = {})
      : hook_time(std::make_shared<HookTime>(free_time)),
        sysctls(std::make_shared<HostSysctls>(node.directory + "/sys")),
        executor(loop),
        attachments(
            {.scheduler = loop.scheduler(),
             .executor = executor,
             .log = log,
             .records = std::make_shared<const cni::Records>(node.directory + "/records"),
             .run =
                 [this, &loop, &node](cni::Network network, cni::Command command, cni::Attachment attachment,
                                      std::optional<cni::Attached> previous, Millis deadline,
                                      cni::OnRun on_run) {
                   most_chains = std::max(most_chains, ++chains);
                   return cni::run_chain(
                       loop, {.directories = {node.directory}, .environment = {"PATH=/usr/bin:/bin"}},
                       std::move(network), command, std::move(attachment), std::move(previous), deadline,
                       [this, on_run = std::move(on_run)](Result<cni::Attached> outcome) {
                         --chains;
                         on_run(std::move(outcome));  // last statement: this function may be gone
                       });
                 },
             .random = [] { return 0.0; },
             .host = {.is_back = [&node](const std::string&) { return node.is_back.load(); },
                      .is_namespace =
                          [](const std::string& path) {
                            std::error_code gone;
                            const auto size = std::filesystem::file_size(path, gone);
                            return !gone && size != std::string_view("no namespace").size();
                          },
                      .prepare_host = [&node, sysctls = sysctls](cni::Record& record) -> Result<Unit> {
                        sysctls->note(record);
                        if (node.cannot_be_prepared) return Error{Errc::kInvalid, "bridge \"br0\" is down"};
                        return Unit{};
                      },
                      .restore_host_sysctls =
                          [sysctls = sysctls](cni::Record& record) { sysctls->restore(record); },
                      .host_addresses = [&node]() -> Result<std::vector<HostAddress>> {
                        if (!node.has_address_of_plugin) return std::vector<HostAddress>{};
                        return std::vector<HostAddress>{{"10.1.0.7", "eno1"}};
                      },
                      .before_del = [&node](const cni::Record&, int) -> Result<Unit> {
                        if (node.cannot_restore_names)
                          return Error{Errc::kTimeout, "rename interface 3: busy"};
                        return Unit{};
                      },
                      .bring_back = [&node](const cni::Record&, int) -> Result<Unit> {
                        ++node.brought_back;
                        if (node.cannot_bring_back) return Error{Errc::kIo, "move net1 back: File exists"};
                        return Unit{};
                      }},
             .tries_max = 2,
             .addresses = node.directory + "/networks",
             .bounds = bounds}),
        sandboxes(
            {loop.scheduler(), log, attachments, hook_time},
            [&node]() -> const PreparedClaims& { return node.prepared; },
            {.on_attached =
                 [this](const AttachedInterface& one) {
                   attached.push_back(one.wanted.interface + " " + one.sandbox_id + " " +
                                      one.result.interfaces.at(0).mac);
                 },
             .on_trouble = [this] { ++troubles_told; },
             .on_adopted =
                 [this, &node](const auto& networks) {
                   for (auto& [key, claim] : node.prepared)
                     for (PreparedDevice& device : claim.devices) {
                       if (const auto at = networks.find({key, device.device}); at != networks.end()) {
                         left_out += at->second.config.empty();
                         device.network = at->second.config;
                         device.network_refusal = at->second.refusal;
                       }
                       device.is_of_peer = false;
                     }
                 },
             .on_pod = [&node](const PreparedKey& claim,
                               const ReservingPod& pod) { node.prepared.at(claim).pods.push_back(pod); },
             .refresh_nodes =
                 [&node](const std::string&, bool is_run, const std::function<void(Result<Unit>)>& done) {
                   ++node.refreshed;
                   done(node.refresh ? node.refresh(is_run) : Result<Unit>(Unit{}));
                 }}) {
    attachments.start([this] { is_ready = true; });
  }

  size_t chains = 0, most_chains = 0;  // that run concurrently
  fake::MemoryLog log;
  const std::shared_ptr<HookTime> hook_time;
  const std::shared_ptr<HostSysctls> sysctls;
  reactor::ThreadExecutor executor;
  Attachments attachments;
  Sandboxes sandboxes;
  bool is_ready = false;
  std::vector<std::string> attached;
  size_t troubles_told = 0, left_out = 0;
};

/// The runtime's connection: calls go through ttrpc's server, as they do in nri::Plugin.
class Runtime {
 public:
  Runtime(reactor::Loop& loop, nri::Hooks& hooks)
      : server_(loop.scheduler(),
                {{"p/Run", relay(hooks, &nri::Hooks::run_pod_sandbox)},
                 {"p/Stop", relay(hooks, &nri::Hooks::stop_pod_sandbox)},
                 {"p/Remove", relay(hooks, &nri::Hooks::remove_pod_sandbox)},
                 {"p/Create",
                  [&hooks](std::string_view payload, nri::Answer answer) {
                    auto call = *nri::decode_sandbox_call(payload);
                    hooks.create_container(call.pod, call.container, nri::Reply(std::move(answer)));
                  }},
                 {"p/Synchronize",
                  [&hooks](std::string_view payload, nri::Answer answer) {
                    auto all = *nri::decode_synchronize(payload);
                    hooks.synchronize(all.pods, all.containers, nri::Reply(std::move(answer)));
                  }}},
                [this](const std::string& bytes) { frames_.add(bytes), read(); }) {}

  /// The call's number.
  uint32_t call(const std::string& method, const std::string& payload, Millis timeout = fixture::patience()) {
    stream_ += 2;
    server_.receive(
        nri::test::request(stream_, "p", method, payload, static_cast<uint64_t>(timeout.count())));
    return stream_;
  }
  /// nullopt: not answered yet; "" agreed.
  std::optional<std::string> answer(uint32_t call) const {
    const auto at = answers_.find(call);
    return at == answers_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  using Hook = void (nri::Hooks::*)(nri::PodSandbox, nri::Reply);
  static nri::Server::Method relay(nri::Hooks& hooks, Hook hook) {
    return [&hooks, hook](std::string_view payload, nri::Answer answer) {
      (hooks.*hook)(nri::decode_sandbox_call(payload)->pod, nri::Reply(std::move(answer)));
    };
  }
  void read() {
    while (const auto frame = frames_.next()) {
      const auto response = *nri::decode_response(frame->data);
      answers_[frame->stream] = response.status.code == nri::Code::kOk ? "" : response.status.message;
    }
  }

  nri::FrameReader frames_;
  std::map<uint32_t, std::string> answers_;
  uint32_t stream_ = 1;
  nri::Server server_;
};

}  // namespace sliced::kubelet::sandbox_test
