// The room cni/ as a program, for the Go test above it: runs the chain of a network and prints the result, or
// what was wrong and ends with 1.
// The host is prepared for an ADD as by the daemon (kubelet/interfaces/host_interface.h).
//   cni_chain ADD|CHECK|DEL DIRECTORIES CONFIG ATTACHMENT [PREVIOUS]
// DIRECTORIES: joined by ':'; the others are files of JSON.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "kubelet/cni/invoke.h"
#include "kubelet/interfaces/host_interface.h"
#include "reactor/base/text.h"

extern char** environ;

using namespace sliced;

namespace {

std::string text_of(const char* path) {
  std::ifstream file(path);
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

cni::Attachment attachment_of(const kube::Json& from) {
  cni::Attachment attachment{.container_id = std::string(from.text("containerID")),
                             .network_namespace = std::string(from.text("netns")),
                             .interface = std::string(from.text("ifName")),
                             .device = std::string(from.text("deviceID"))};
  if (const kube::Json* args = from.find("args"); args && args->array())
    for (const kube::Json& pair : *args->array())
      attachment.arguments.emplace_back(*pair.array()->at(0).string(), *pair.array()->at(1).string());
  if (const kube::Json* capabilities = from.find("capabilityArgs")) attachment.capabilities = *capabilities;
  return attachment;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return std::fputs("cni_chain COMMAND DIRECTORIES CONFIG ATTACHMENT [PREVIOUS]\n", stderr), 2;
  const std::string command = argv[1];
  cni::Place place{.directories = {}};
  for (const std::string_view directory : split(argv[2], ':')) place.directories.emplace_back(directory);
  for (char** variable = environ; *variable != nullptr; ++variable) place.environment.emplace_back(*variable);
  cni::Record record{.config = text_of(argv[3]),
                     .network = "unnamed",
                     .attachment = attachment_of(*kube::decode_json(text_of(argv[4])))};
  kubelet::HostSysctls sysctls;
  if (command == "ADD" && cni::decode_network(record.config, record.network)) {
    if (const auto kept = kubelet::protect_bridge(record); !kept)
      return std::puts(kept.error().what.c_str()), 1;
    sysctls.note(record);
  }
  auto network = cni::decode_network(record.config, record.network);
  if (!network) return std::puts(network.error().what.c_str()), 1;
  std::optional<cni::Attached> previous;
  if (argc > 5) previous = *cni::decode_result(text_of(argv[5]), network->cni_version);
  reactor::Loop loop;
  int status = 1;
  const auto run = cni::run_chain(
      loop, std::move(place), *std::move(network),
      command == "ADD"     ? cni::Command::kAdd
      : command == "CHECK" ? cni::Command::kCheck
                           : cni::Command::kDel,
      record.attachment, std::move(previous), Millis{3'600'000}, [&](Result<cni::Attached> outcome) {
        status = outcome ? 0 : 1;
        std::puts(outcome ? kube::encode_json(cni::encode_result(*outcome)).c_str()
                          : outcome.error().what.c_str());
        loop.stop();
      });
  loop.run();
  sysctls.restore(record);
  return status;
}
