// The simulation's program: see README.md here, and usage() below.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "t/sim/history.h"

namespace {

void* allocate(std::size_t size) {
  if (sliced::sim::Memory::is_refused()) throw std::bad_alloc();
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace sliced::sim {
namespace {

struct Arguments {
  uint64_t seed = 1;
  size_t seeds = 500, steps = 500;
  double seconds = 0;  // 0: as many as there are seeds
  bool loud = false;
};

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void report(const History& history, const Outcome& outcome, bool is_loud) {
  std::printf("FAILED seed %llu at step %zu: %s: %s\n", static_cast<unsigned long long>(history.seed),
              outcome.step, outcome.violation->invariant.c_str(), outcome.violation->what.c_str());
  for (const std::string& line : outcome.log) std::printf("  log: %s\n", line.c_str());
  const History shorter = shortened(history, outcome, 20);
  std::printf("  the shortest history found that breaks it has %zu steps:\n", shorter.steps.size());
  for (const Step& step : shorter.steps) std::printf("    %s\n", describe(step).c_str());
  const Outcome again = run_history(shorter, is_loud);
  if (again.violation)
    std::printf("  there: %s: %s\n", again.violation->invariant.c_str(), again.violation->what.c_str());
}

int random_histories(const Arguments& arguments) {
  const double start = now_seconds();
  size_t passed = 0, failed = 0;
  std::map<std::string, size_t> histories;
  for (uint64_t seed = arguments.seed; seed < arguments.seed + arguments.seeds; ++seed) {
    if (arguments.seconds > 0 && now_seconds() - start > arguments.seconds) break;
    const History history = make_history(seed, arguments.steps);
    const Outcome outcome = run_history(history);
    for (const auto& [what, count] : outcome.seen) ++histories[what];
    if (!outcome.violation) {
      ++passed;
      continue;
    }
    ++failed;
    report(history, outcome, arguments.loud);
    if (failed >= 3) break;
  }
  for (const auto& [what, count] : histories)
    std::printf("  %6zu of %zu histories: %s\n", count, passed + failed, what.c_str());
  std::printf("%zu histories passed, %zu failed, in %.1f s\n", passed, failed, now_seconds() - start);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sliced::sim

int main(int count, char** words) {
  using namespace sliced::sim;
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&] { return i + 1 < count ? std::string(words[++i]) : std::string("0"); };
    if (word == "--seed")
      arguments.seed = std::stoull(value()), arguments.seeds = 1;
    else if (word == "--first")
      arguments.seed = std::stoull(value());
    else if (word == "--seeds")
      arguments.seeds = std::stoull(value());
    else if (word == "--steps")
      arguments.steps = std::stoull(value());
    else if (word == "--loud")
      arguments.loud = true;
  }
  return random_histories(arguments);
}
