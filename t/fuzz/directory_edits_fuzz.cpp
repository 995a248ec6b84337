// Edits of a folder of manifests: whatever happens in between, the store ends where a fresh reading of the
// folder begins. Input: edits, each "NAME OP CONTENT" up to a zero byte; OP is w (write), r (replace by
// rename), d (delete), m (move away).
#include <filesystem>
#include <fstream>

#include "kube/directory/directory_tree.h"
#include "reactor/loop.h"
#include "t/fake/memory_log.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::directory_edits_target {
namespace fs = std::filesystem;

namespace {

constexpr kube::DirectoryLimits kLimits{.broken_for = Millis{1},
                                        .missing_for = Millis{1},
                                        .retry_interval = Millis{5},
                                        .files_max = 64,
                                        .depth_max = 3};

std::map<kube::ObjectKey, std::string> contents(const kube::ObjectStore& store) {
  std::map<kube::ObjectKey, std::string> out;
  store.for_each(
      [&](const kube::ObjectKey& key, const kube::StoredObject& kept) { out[key] = *kept.content; });
  return out;
}

void apply(const fs::path& root, fuzz::Input edit) {
  static constexpr const char* kNames[] = {"a.yaml",       "b.json", "sub/c.yaml",
                                           ".hidden.yaml", "d.txt",  "e.yml"};
  const fs::path path = root / kNames[edit.byte() % std::size(kNames)];
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  switch (edit.byte() % 4) {
    case 0:
      std::ofstream(path) << edit.rest;
      break;
    case 1:
      std::ofstream(root / ".scratch") << edit.rest;
      fs::rename(root / ".scratch", path, ignored);
      break;
    case 2:
      fs::remove(path, ignored);
      break;
    default:
      fs::rename(path, root / "e.yml", ignored);
  }
}

void settle(reactor::Loop& loop) {
  const auto end = Clock::now() + Millis{8};
  while (Clock::now() < end) loop.turn(Millis{2});
}

}  // namespace

FUZZ_TARGET(directory_edits) {
  fuzz::Input input(data, size);
  static const fs::path root = [] {
    std::string path = "/tmp/sliced-fuzz-XXXXXX";
    fuzz::must(mkdtemp(path.data()) != nullptr, "a directory can be made");
    std::atexit([] { fs::remove_all(root); });
    return fs::path(path);
  }();
  for (const auto& entry : fs::directory_iterator(root)) fs::remove_all(entry);
  reactor::Loop loop;
  fake::MemoryLog log;
  kube::ObjectStore followed, fresh;
  {
    kube::DirectoryTree tree(loop, log, root.string(), "ns", followed, [](auto) {}, kLimits);
    for (int edits = 0; !input.rest.empty() && edits < 8; ++edits) {
      const std::string_view edit = input.until('\0');
      apply(root, fuzz::Input(reinterpret_cast<const uint8_t*>(edit.data()), edit.size()));
      if (edits % 3 == 2) loop.turn(Millis{0});
    }
    settle(loop);
    kube::DirectoryTree again(loop, log, root.string(), "ns", fresh, [](auto) {}, kLimits);
    settle(loop);
    // A busy machine takes longer.
    for (const auto end = Clock::now() + Millis{10'000};
         Clock::now() < end && contents(followed) != contents(fresh);)
      loop.turn(Millis{10});
  }
  fuzz::must(loop.surviving_handles().empty(), "no handle stays open");
  fuzz::must(contents(followed) == contents(fresh), "following edits ends where a fresh reading begins");
  return 0;
}

}  // namespace sliced::fuzz::directory_edits_target
