#pragma once
// What the tests of the watchers share: a log that is kept, a small kind, and events as readable text.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "watchers/watched_source.h"

namespace sliced::watchers {

class KeptLog final : public Log {
 public:
  void line(Level level, std::string_view message, std::initializer_list<Field> fields) override {
    if (level == Level::kDebug) return;
    std::string text(message);
    for (const Field& field : fields)
      if (!field.value.empty()) text += " " + std::string(field.key) + "=" + field.value;
    lines.push_back(std::move(text));
  }
  size_t count(std::string_view part) const {
    size_t found = 0;
    for (const std::string& line : lines) found += line.find(part) != std::string::npos ? 1 : 0;
    return found;
  }
  std::vector<std::string> lines;
};

struct Thing {
  int64_t value = 0;
};

inline Result<Thing> decode_thing(std::string_view object) {
  Result<kube::Json> json = kube::decode_json(object);
  if (!json.ok()) return std::move(json.error());
  const kube::Json* value = json->find({"spec", "value"});
  if (value == nullptr || value->integer() == nullptr)
    return Error{Errc::kInvalid, "spec.value: not an integer"};
  return Thing{*value->integer()};
}

/// "a=1", or "a!" when it cannot be understood.
inline std::string describe(const Watched<Thing>& item) {
  return item.id.name + (item.value.ok() ? "=" + std::to_string(item.value->value) : "!");
}

inline std::string describe(const SourceEvent<Watched<Thing>>& event) {
  if (const auto* changed = std::get_if<Changed<Watched<Thing>>>(&event))
    return "changed " + describe(changed->now);
  if (const auto* removed = std::get_if<Removed<Watched<Thing>>>(&event))
    return "removed " + removed->id.name;
  std::string text = "relisted";
  const auto& list = std::get<Relisted<Watched<Thing>>>(event);
  for (const auto& item : list.all) text += " " + describe(item);
  for (const auto& id : list.kept) text += " +" + id.name;
  return text;
}

inline const kube::Resource kThings{"example.com", "v1", "things", "Thing", true};

struct WatchTest : testing::Test {
  using Source = WatchedSource<Thing>;
  using Network = fake::FakeCluster::Network;
  using State = SyncState::State;

  kube::ClusterPorts ports() {
    return {cluster, scheduler, log, [this] { return random; }};
  }

  /// A source of things, started, with its first answers in.
  void follow(ListWatchLimits limits = {}, Source::KeepMissing keep_missing = {}) {
    source = std::make_unique<Source>(
        ports(), kube::Scope{kThings, "ns", "", false}, decode_thing,
        [this](SourceEvent<Watched<Thing>> event) {
          if (const auto* list = std::get_if<Relisted<Watched<Thing>>>(&event)) why = list->why;
          told.push_back(describe(event));
        },
        [this](const SyncState& sync) { stood.push_back(sync.state); }, std::move(keep_missing), limits);
    source->start();
    settle();
  }
  void settle() { scheduler.advance(Millis{20}); }

  void put(const std::string& name, const std::string& spec) {
    cluster.put_text(kThings,
                     R"({"metadata":{"namespace":"ns","name":")" + name + R"("},"spec":)" + spec + "}");
  }
  void put(const std::string& name, int value) { put(name, R"({"value":)" + std::to_string(value) + "}"); }
  bool remove(const std::string& name) { return cluster.remove(kThings, name, "ns"); }

  /// Returns the events since the last call.
  std::vector<std::string> events() { return std::exchange(told, {}); }
  using Words = std::vector<std::string>;

  /// The requests on things since the last look: "watch" with how it starts, "list" with the version asked
  /// for.
  Words asked() {
    Words words;
    for (const fake::Request& request : cluster.log) {
      std::string word = request.verb;
      if (request.send_initial_events)
        word += " initial";
      else if (request.verb == "list" || request.verb == "watch")
        word += " from " + request.resource_version;
      words.push_back(std::move(word));
    }
    cluster.log.clear();
    return words;
  }
  std::string version() const { return std::to_string(cluster.resource_version()); }

  double random = 0;
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  KeptLog log;
  std::vector<std::string> told;
  std::vector<State> stood;
  std::string why;  // of the last Relisted
  std::unique_ptr<Source> source;
};

}  // namespace sliced::watchers
