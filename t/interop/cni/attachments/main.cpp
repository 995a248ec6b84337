// kubelet::Attachments over real CNI plugins and the running kernel, for the Go test above it. Reads a command a line, as JSON, and
// prints what came of it: {} or {"error": ...}. Its log goes to stderr. Commands of one array run at once and have one answer.
//   cni_attachments PLUGINS RECORDS [SLICED]
//   {"command": "attach" | "detach", "config": ... | "network": ..., "containerID": ..., "netns": ..., "interface": "net1",
//    "deviceID": ..., "hostInterface": ... | "parent": ..., "usersDefinition": ...}
// network: as in a VfConfig; SLICED, a program, attaches it. parent: of an interface that is made on it.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "hotplug/host_view.h"
#include "kube/objects/json.h"
#include "kubelet/interfaces/attachments.h"
#include "kubelet/interfaces/host_interface.h"
#include "kubelet/interfaces/native_interface.h"
#include "kubelet/node_host.h"
#include "reactor/base/log.h"
#include "reactor/loop.h"
#include "reactor/thread_executor.h"

extern char** environ;

using namespace sliced;

namespace {

constexpr Millis kAttachMax{3'600'000};

class StderrLog final : public Log {
 public:
  void line(Level, std::string_view message, std::initializer_list<Field> fields) override {
    std::cerr << message;
    for (const Field& field : fields) std::cerr << ' ' << field.key << '=' << field.value;
    std::cerr << '\n';
  }
};

std::string config_of(const kube::Json& from) {
  const kube::Json* network = from.find("network");
  if (network == nullptr) return std::string(from.text("config"));
  const auto decoded = kubelet::decode_native_network(*network, "network");
  if (!decoded) {
    std::fprintf(stderr, "%s\n", decoded.error().what.c_str());
    std::exit(1);
  }
  const std::string_view own = from.text("hostInterface");
  return kubelet::native_config(*decoded, std::string(own.empty() ? from.text("parent") : own));
}

cni::Record record_of(const kube::Json& from) {
  cni::Record record{.config = config_of(from), .network = "net", .attachment = {}};
  record.attachment.container_id = from.text("containerID");
  record.attachment.network_namespace = from.text("netns");
  const std::string_view interface = from.text("interface");
  record.attachment.interface = interface.empty() ? "net1" : interface;
  record.attachment.device = from.text("deviceID");
  if (const std::string_view link = from.text("hostInterface"); !link.empty())
    record.host_interface = cni::HostInterface{.name = std::string(link)};
  record.users_definition = from.text("usersDefinition");
  record.attachment.arguments = {{"IgnoreUnknown", "1"}, {"K8S_POD_UID", record.attachment.container_id}};
  return record;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return std::fputs("cni_attachments PLUGINS RECORDS [SLICED]\n", stderr), 2;
  cni::Place place{.directories = {argv[1]}};
  for (char** variable = environ; *variable != nullptr; ++variable) place.environment.emplace_back(*variable);
  auto host = hotplug::open_host_view("/");
  if (!host) return std::puts(host.error().what.c_str()), 1;
  reactor::Loop loop;
  reactor::ThreadExecutor executor(loop);
  StderrLog log;
  kubelet::HostSysctls sysctls;
  kubelet::Attachments attachments(
      {.scheduler = loop.scheduler(),
       .executor = executor,
       .log = log,
       .records = std::make_shared<const cni::Records>(argv[2]),
       .run =
           [&](cni::Network network, cni::Command command, cni::Attachment attachment,
               std::optional<cni::Attached> previous, Millis deadline, cni::OnRun on_run) {
             if (cni::is_native(network))
               return kubelet::run_native(
                   loop, {argc == 4 ? argv[3] : "", "attach-helper", std::to_string(::getpid())}, place,
                   network, command, attachment, deadline, std::move(on_run));
             return cni::run_chain(loop, place, std::move(network), command, std::move(attachment),
                                   std::move(previous), deadline, std::move(on_run));
           },
       .host = {.is_back = [view = std::shared_ptr<const hotplug::HostView>(*std::move(host))](
                               const std::string& pci) { return kubelet::is_back(*view, pci); },
                .prepare_host = [&](cni::Record& record) -> Result<Unit> {
                  kubelet::record_host_interface(record);
                  if (auto kept = kubelet::protect_bridge(record); !kept) return kept;
                  sysctls.note(record);
                  return Unit{};
                },
                .restore_host_sysctls = [&](cni::Record& record) { sysctls.restore(record); },
                .host_addresses = &kubelet::read_addresses,
                .on_interface_moved = &kubelet::record_moved_interface,
                .before_del = &kubelet::restore_names_in_sandbox,
                .bring_back = &kubelet::bring_interface_back}});
  size_t running = 0;
  const auto wait = [&] {
    while (running > 0) loop.turn(Millis{1'000});
  };
  ++running;
  attachments.start([&] { --running; });
  wait();
  for (std::string line; std::getline(std::cin, line);) {
    const auto from = kube::decode_json(line);
    if (!from) return std::puts(from.error().what.c_str()), 1;
    std::optional<Error> error;
    const auto end = [&](const auto& outcome) {
      if (!outcome && !error) error = outcome.error();
      --running;
    };
    const auto begin = [&](const kube::Json& one) {
      ++running;
      if (one.text("command") == "attach")
        attachments.attach(record_of(one), loop.now() + kAttachMax,
                           [&](Result<cni::Attached> outcome) { end(outcome); });
      else
        attachments.detach(record_of(one).attachment, [&](Result<Unit> outcome) { end(outcome); });
    };
    if (from->array() != nullptr)
      for (const kube::Json& one : *from->array()) begin(one);
    else
      begin(*from);
    wait();
    std::cout << kube::encode_json(error ? kube::Json(kube::Json::Object{{"error", error->what}})
                                         : kube::Json(kube::Json::Object{}))
              << std::endl;
  }
  return 0;
}
