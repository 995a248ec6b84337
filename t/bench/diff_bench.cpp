// What the loop does of a large decision, which itself is made on a worker: comparing it with the slices,
// once for each write. Against comparing the same entries, one with one.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "publishers/diff_pool.h"
#include "reactor/base/text.h"
#include "t/bench/ratio.h"
#include "t/fixture/pools.h"

using namespace sliced;

namespace {

constexpr int kPools = 20, kEach = 249, kAttributes = 12;

std::vector<policy::DesiredPool> make_pools(int64_t value) {
  static const std::vector<SharedText> keys = [] {
    std::vector<SharedText> out;
    for (int i = 0; i < kAttributes; ++i)
      out.emplace_back("dra.networking/attribute" + hex(static_cast<uint64_t>(i), 2));
    return out;
  }();
  std::vector<policy::DesiredPool> out;
  for (int i = 0; i < kPools; ++i) {
    policy::DesiredPool pool = fixture::pool(fixture::devices(0, kEach, value));
    for (kube::DevicePtr& device : pool.devices) {
      kube::Device entry = *device;
      for (const SharedText& key : keys) entry.attributes.emplace(key, std::string("a value"));
      device = std::move(entry);
    }
    pool.name += "/" + std::to_string(i);
    pool.can_count = true;
    out.push_back(std::move(pool));
  }
  return out;
}

publishers::SliceChanges diff(const std::vector<policy::DesiredPool>& pools,
                              const publishers::ObservedSlices& held) {
  return publishers::diff_pools(pools, held, fixture::kNode, fixture::kDriver, {});
}

// Every entry beside that of the same place; slices hold them in order.
size_t compare_only(const std::vector<policy::DesiredPool>& pools,
                    const std::map<std::string, std::vector<const kube::ResourceSlice*>>& by_pool) {
  size_t equal = 0;
  for (const policy::DesiredPool& pool : pools) {
    auto entry = pool.devices.begin();
    for (const kube::ResourceSlice* slice : by_pool.at(pool.name))
      for (const kube::DevicePtr& device : slice->devices) equal += *device == **entry++;
  }
  return equal;
}

}  // namespace

int main() {
  const auto pools = make_pools(0), others = make_pools(1);
  const publishers::ObservedSlices held = fixture::applied({}, diff(pools, {}));
  std::map<std::string, std::vector<const kube::ResourceSlice*>> by_pool;
  for (const auto& [name, slice] : held) by_pool[slice.pool.name].push_back(&slice);
  const auto all = static_cast<size_t>(kPools * kEach);
  if (!diff(pools, held).empty() || compare_only(make_pools(0), by_pool) != all ||
      diff(others, held).size() != held.size())
    return 1;
  std::printf("diff: %d pools, %zu slices, %zu entries\n", kPools, held.size(), all);
  size_t sink = 0;
  const auto same = make_pools(0);  // of another decision: equal, and not the same objects
  bench::compare(
      "diff, nothing changed / entries compared", 15, [&] { sink += compare_only(same, by_pool); },
      [&] { sink += diff(same, held).size(); });
  bench::compare(
      "diff, every entry changed / entries compared", 15, [&] { sink += compare_only(same, by_pool); },
      [&] { sink += diff(others, held).size(); });
  return sink == 0;
}
