#pragma once
// A world in which somebody may have been allocated what is offered, and how much of it a scheduler would
// give away.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "daemon/daemon.h"
#include "policy/reserved/record.h"
#include "t/fixture/daemon_world.h"

namespace sliced::fixture {

using namespace std::chrono_literals;

struct ChargedWorld : testing::Test, DaemonWorld {
  static constexpr const char* kPool = "node-a/0000-3b-00-0";
  /// After this a first start knows that nothing is allocated.
  static constexpr Millis kKnown{15'000};
  static std::string persona(const std::string& suffix, bool is_shared = false,
                             const std::string& group = "") {
    return ", exposure: {deviceNameSuffix: '" + suffix + "'" +
           (is_shared ? ", allowMultipleAllocations: true" : "") +
           (group.empty() ? "" : ", exclusionGroup: " + group) + "}";
  }

  static int64_t whole(const kube::Quantity& tokens) {
    return static_cast<int64_t>(tokens.nanos() / 1'000'000'000);
  }
  // What is left of a counter for who comes now, without what is allocated of the entries that are offered.
  std::optional<int64_t> total(const std::string& set, const std::string& counter) const {
    for (const auto& slice : slices())
      for (const auto& one : slice.shared_counters)
        if (one.name == set && one.counters.contains(counter)) return whole(one.counters.at(counter));
    return std::nullopt;
  }
  std::set<std::string> recorded(const std::string& driver = kExposureDriver) const {
    std::set<std::string> out;
    for (const auto& slice : slices()) {
      const auto at = slice.meta.annotations.find(std::string(policy::kWithdrawnAnnotation));
      if (slice.driver != driver || at == slice.meta.annotations.end()) continue;
      const auto record = policy::Record::decode(at->second);
      EXPECT_TRUE(record.ok()) << at->second;
      for (const auto& holding : record->holdings()) out.insert(holding.entry);
    }
    return out;
  }
  std::set<std::string> offered_by(const std::string& driver) const {
    std::set<std::string> out;
    for (const auto& slice : slices())
      if (slice.driver == driver)
        for (const kube::Device& device : slice.devices) out.insert(device.name);
    return out;
  }

  // As the kubelet does at its start, to slices of all drivers.
  void wipe() { cluster.remove_where(kube::kResourceSlices, "spec.nodeName=node-a"); }
  void wipe_pool(const std::string& name) {
    cluster.remove_where(kube::kResourceSlices, "spec.pool.name=" + name);
  }
  // What a scheduler that knows of no claim would give away.
  std::set<std::string> allocatable_of(const std::string& driver) const {
    std::map<std::string, int64_t> left;  // "pool set counter"
    for (const auto& slice : slices())
      for (const auto& one : slice.shared_counters)
        for (const auto& [counter, tokens] : one.counters)
          left[slice.pool.name + ' ' + one.name + ' ' + counter] = whole(tokens);
    const auto is_there = [&](const std::string& pool, const kube::CounterConsumption& taken) {
      return std::all_of(taken.counters.begin(), taken.counters.end(), [&](const auto& one) {
        const auto at = left.find(pool + ' ' + taken.counter_set + ' ' + one.first);
        return at != left.end() && at->second >= whole(one.second);
      });
    };
    std::set<std::string> out;
    for (const auto& slice : slices()) {
      if (slice.driver != driver) continue;
      for (const kube::Device& device : slice.devices)
        if (std::all_of(device.consumes_counters.begin(), device.consumes_counters.end(),
                        [&](const auto& taken) { return is_there(slice.pool.name, taken); }))
          out.insert(device.name);
    }
    return out;
  }
  bool can_allocate(const std::string& driver, const std::string& name) const {
    return allocatable_of(driver).contains(name);
  }
  std::set<std::string> allocatable() const {
    std::set<std::string> out = allocatable_of(kDriver);
    out.merge(allocatable_of(kExposureDriver));
    return out;
  }
  // As an API server does (ValidateAnnotations).
  void refuse_long_annotations() {
    cluster.on_admit = [](const fake::Request&, kube::Json& object) -> std::optional<kube::Failure> {
      size_t bytes = 0;
      const kube::Json* notes = object.find({"metadata", "annotations"});
      if (notes != nullptr && notes->object() != nullptr)
        for (const auto& [key, value] : *notes->object()) bytes += key.size() + value.string()->size();
      if (bytes <= 256u << 10) return std::nullopt;
      return kube::Failure{.code = Errc::kInvalid,
                           .http_status = 422,
                           .what = "metadata.annotations: Too long: may not be more than 262144 bytes",
                           .fields = {"metadata.annotations"}};
    };
  }
  // Somebody's annotation, on each of our slices, that leaves so many bytes.
  void fill_annotations(size_t left) {
    for (kube::ResourceSlice slice : slices()) {
      size_t bytes = 0;
      for (const auto& [key, value] : slice.meta.annotations) bytes += key.size() + value.size();
      slice.meta.annotations["theirs"] = std::string((256u << 10) - left - bytes - 6, 'x');
      cluster.put(kube::kResourceSlices, kube::encode_resource_slice(slice));
    }
  }

  void offer_two_vfs() {
    make_pf(2);
    put_exposure("p", of_type("vf"));
    start();
    run(kKnown);
  }

  // In place of each record of the driver.
  void spoil_records(const std::string& driver, const std::string& text = "nonsense") {
    size_t spoilt = 0;
    for (kube::ResourceSlice slice : slices()) {
      const auto record = slice.meta.annotations.find(std::string(policy::kWithdrawnAnnotation));
      if (slice.driver != driver || record == slice.meta.annotations.end()) continue;
      record->second = text;
      cluster.put(kube::kResourceSlices, kube::encode_resource_slice(slice));
      ++spoilt;
    }
    EXPECT_GT(spoilt, 0u);
  }

  // The PF is offered whole and taken; then its VFs are offered instead.
  void take_the_pf_then_offer_vfs() {
    make_pf(2);
    put_exposure("p", of_type("pf"));
    start();
    run(kKnown);
    ASSERT_TRUE(offered().contains(kWholePf));
    put_claim("mine", kExposureDriver, kPool, kWholePf);
    put_exposure("p", of_type("vf"));
    run(2s);
  }
};

}  // namespace sliced::fixture
