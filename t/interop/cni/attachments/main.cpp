// kubelet::Attachments over real CNI plugins and the running kernel, for the Go test above it. Reads a command a line, as JSON, and
// prints what came of it: {} or {"error": ...}. Its log goes to stderr.
//   cni_attachments PLUGINS RECORDS
//   {"command": "attach" | "detach", "config": ..., "containerID": ..., "netns": ..., "deviceID": ..., "hostInterface": ...,
//    "usersDefinition": ...}
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>

#include "hotplug/host_view.h"
#include "kube/objects/json.h"
#include "kubelet/interfaces/attachments.h"
#include "kubelet/interfaces/host_interface.h"
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

cni::Record record_of(const kube::Json& from) {
  cni::Record record{.config = std::string(from.text("config")), .network = "net", .attachment = {}};
  record.attachment.container_id = from.text("containerID");
  record.attachment.network_namespace = from.text("netns");
  record.attachment.interface = "net1";
  record.attachment.device = from.text("deviceID");
  if (const std::string_view link = from.text("hostInterface"); !link.empty())
    record.host_interface = cni::HostInterface{.name = std::string(link)};
  record.users_definition = from.text("usersDefinition");
  record.attachment.arguments = {{"IgnoreUnknown", "1"}, {"K8S_POD_UID", record.attachment.container_id}};
  return record;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("cni_attachments PLUGINS RECORDS\n", stderr), 2;
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
             return cni::run_chain(loop, place, std::move(network), command, std::move(attachment),
                                   std::move(previous), deadline, std::move(on_run));
           },
       .is_back = [view = std::shared_ptr<const hotplug::HostView>(*std::move(host))](
                      const std::string& pci) { return kubelet::is_back(*view, pci); },
       .prepare_host = [&](cni::Record& record) -> Result<Unit> {
         kubelet::note_host_interface(record);
         if (auto kept = kubelet::keep_host_links(record); !kept) return kept;
         sysctls.note(record);
         return Unit{};
       },
       .restore_host_sysctls = [&](cni::Record& record) { sysctls.restore(record); },
       .host_addresses = &kubelet::read_addresses,
       .note_moved = &kubelet::note_moved_interface,
       .before_del = &kubelet::restore_names_in_sandbox,
       .bring_back = &kubelet::bring_interface_back});
  bool is_done = false;
  const auto wait = [&] {
    while (!is_done) loop.turn(Millis{1'000});
    is_done = false;
  };
  attachments.start([&] { is_done = true; });
  wait();
  for (std::string line; std::getline(std::cin, line);) {
    const auto from = kube::decode_json(line);
    if (!from) return std::puts(from.error().what.c_str()), 1;
    std::optional<Error> error;
    if (from->text("command") == "attach")
      attachments.attach(record_of(*from), loop.now() + kAttachMax, [&](Result<cni::Attached> outcome) {
        if (!outcome) error = outcome.error();
        is_done = true;
      });
    else
      attachments.detach(record_of(*from).attachment, [&](Result<Unit> outcome) {
        if (!outcome) error = outcome.error();
        is_done = true;
      });
    wait();
    std::cout << kube::encode_json(error ? kube::Json(kube::Json::Object{{"error", error->what}})
                                         : kube::Json(kube::Json::Object{}))
              << std::endl;
  }
  return 0;
}
