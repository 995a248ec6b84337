// The daemon in a world that another program plays with: one command a line on standard input, one answer a
// line on standard output, both JSON objects. README.md lists the commands.
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <string>

#include "kube/objects/kinds.h"
#include "t/worlds/node.h"

namespace sliced::worlds {
namespace {

using kube::Json;

constexpr Millis kSettleMax{30'000};

std::string text(const Json& command, std::string_view key) { return std::string(command.text(key)); }
int64_t number(const Json& command, std::string_view key, int64_t otherwise = 0) {
  const Json* found = command.find(key);
  return found == nullptr || found->integer() == nullptr ? otherwise : *found->integer();
}
bool flag(const Json& command, std::string_view key, bool otherwise) {
  const Json* found = command.find(key);
  return found == nullptr || found->boolean() == nullptr ? otherwise : *found->boolean();
}

const kube::Resource& kind_of(const Json& command) {
  return text(command, "kind") == "SriovResourcePolicy" ? kube::kSriovResourcePolicies
                                                        : kube::kDeviceExposurePolicies;
}

using Command = std::function<void(const Json&)>;

class Driver {
 public:
  /// The answer to one line.
  Json answer(const std::string& line) {
    const Result<Json> command = kube::decode_json(line);
    if (!command.ok()) return error("no JSON: " + command.error().what);
    answer_ = Json::Object{};
    const std::string name = text(*command, "do");
    if (name != "world" && !node_) return error("no world yet");
    if (const auto at = commands_.find(name); at != commands_.end())
      at->second(*command);
    else
      return error("no command: " + name);
    return std::move(answer_);
  }

 private:
  static Json error(const std::string& what) { return Json::Object{{"error", what}}; }

  void begin(const Json& command) {
    const Server server{flag(command, "counters", true), flag(command, "shared", true),
                        command.find("version") == nullptr ? Server{}.version : text(command, "version")};
    node_.reset();
    shown_.clear();
    node_ = std::make_unique<Node>(static_cast<uint64_t>(number(command, "seed")), server,
                                   flag(command, "loud", false));
    node_->cluster.latency = Millis(number(command, "latency", node_->cluster.latency.count()));
  }

  void change_host(const Json& command) {
    const std::string what = text(command, "what"), name = text(command, "name");
    if (what == "plug")
      node_->plug(static_cast<int>(number(command, "slot")), name, text(command, "vendor"),
                  static_cast<int>(number(command, "numa")), static_cast<int>(number(command, "vfs")));
    else if (what == "vfs")
      node_->set_vfs(name, static_cast<int>(number(command, "count")), text(command, "driver"));
    else if (what == "bridge")
      node_->machine.add_bridge(name);
    else if (what == "vlan")
      node_->add_vlan(name, static_cast<int>(number(command, "id")));
    else if (what == "enslave")
      node_->enslave(name, text(command, "to"));
    else if (what == "route")
      node_->set_default_route(name, flag(command, "on", true));
    else if (what == "remove")
      node_->remove_link(name);
    else if (what == "away")
      node_->move_away(name);
    else if (what == "back")
      node_->come_back(name);
    else
      answer_ = error("no such change of the host: " + what);
  }

  void label(const Json& command) {
    std::map<std::string, std::string> labels;
    if (const Json* given = command.find("labels"); given != nullptr && given->object() != nullptr)
      for (const auto& [key, value] : *given->object())
        if (value.string() != nullptr) labels[key] = *value.string();
    node_->label(labels);
  }

  void set_claims(const Json& command) {
    const Json* claims = command.find("claims");
    node_->set_claims(claims == nullptr || claims->array() == nullptr ? Json::Array{} : *claims->array());
  }

  void show() {
    Json::Array slices = node_->cluster.objects(kube::kResourceSlices);
    std::string now = kube::encode_json(Json(slices));
    if (now == shown_) return;
    shown_ = std::move(now);
    answer_.set("slices", std::move(slices));
  }

  void settle(const Json& command) {
    const TimePoint before = node_->scheduler.now();
    answer_.set("rest", node_->settle(Millis(number(command, "ms", kSettleMax.count()))));
    answer_.set("ms", int64_t{(node_->scheduler.now() - before).count()});
    show();
  }

  std::unique_ptr<Node> node_;
  Json answer_;
  std::string shown_;  // the slices as they were told last

  const std::map<std::string, Command> commands_ = {
      {"world", [this](const Json& command) { begin(command); }},
      {"host", [this](const Json& command) { change_host(command); }},
      {"put", [this](const Json& command) { node_->cluster.put(kind_of(command), *command.find("object")); }},
      {"delete",
       [this](const Json& command) {
         const bool is_sriov = kind_of(command) == kube::kSriovResourcePolicies;
         node_->cluster.remove(kind_of(command), text(command, "name"), is_sriov ? Node::kNamespace : "");
       }},
      {"label", [this](const Json& command) { label(command); }},
      {"claims", [this](const Json& command) { set_claims(command); }},
      {"deny", [this](const Json& command) { node_->cluster.deny(text(command, "plural")); }},
      {"allow", [this](const Json& command) { node_->cluster.allow(text(command, "plural")); }},
      {"version",
       [this](const Json& command) {
         node_->cluster.git_version = text(command, "version");
         node_->cluster.expire_watches();
       }},
      {"wipe",
       [this](const Json&) {
         node_->cluster.remove_where(kube::kResourceSlices, std::string("spec.nodeName=") + Node::kName);
       }},
      {"start", [this](const Json&) { node_->start(); }},
      {"stop", [this](const Json&) { node_->stop(); }},
      {"reboot",
       [this](const Json&) {
         node_->stop();
         node_->reboot();
       }},
      {"run",
       [this](const Json& command) {
         node_->run(Millis(number(command, "ms")));
         show();
       }},
      {"settle", [this](const Json& command) { settle(command); }},
  };
};

}  // namespace
}  // namespace sliced::worlds

int main() {
  std::ios::sync_with_stdio(false);
  sliced::worlds::Driver driver;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << sliced::kube::encode_json(driver.answer(line)) << '\n' << std::flush;
  return 0;
}
