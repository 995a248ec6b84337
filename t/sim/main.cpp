// The simulation's program: see README.md here, and usage() below.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "t/sim/faults.h"
#include "t/sim/history.h"
#include "t/sim/kubelet.h"
#include "t/sim/scale.h"

namespace {

void* allocate(std::size_t size) {
  if (sliced::sim::Memory::is_refused()) sliced::fake::abandon(sliced::fake::Abandoned::kIsKilled);
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

constexpr const char* kUsage =
    "Usage: simulate [histories | worlds | kubelet | faults | replay | scale | power-up] [OPTION]...\n"
    "  histories   random histories, one a seed (the default)\n"
    "  worlds      histories of claims, whose scheduler is Kubernetes' own allocator: for t/worlds alone\n"
    "  kubelet     random histories of pods that start and end, with a plugin that is killed at any step\n"
    "  faults      the scenarios, with the n-th operation of each kind failing\n"
    "  replay      a few histories twice each: the same to the last byte\n"
    "  scale       a node with 4,096 VFs, and a cluster of many nodes\n"
    "  power-up    of scale, only the start of all nodes after their slices were deleted\n"
    "  --seed N        one history, this one\n"
    "  --first N       the first of several seeds (1)\n"
    "  --seeds N       how many (500)\n"
    "  --steps N       of each history (500)\n"
    "  --weight NAME=N of a kind of steps, in place of its own\n"
    "  --for TIME      go on to the next seed for so long: 90s, 10m, 1h\n"
    "  --demand        fail when a state of the list was never reached, or too rarely\n"
    "  --all           go on after histories that fail, and shorten none\n"
    "  --scenario NAME of faults\n"
    "  --each N        of each kind of operation, fail about N (all: 0) (60)\n"
    "  --memory N      allocations refused per scenario (200)\n"
    "  --nodes N       of the cluster (500)\n"
    "  --release VERSION[,counters][,shared]   of the server of worlds, and what it keeps by default\n"
    "  --loud          the shortened history of a failure with the daemon's whole log, on standard error\n";

struct Arguments {
  std::string mode = "histories", scenario;
  uint64_t seed = 1;
  size_t seeds = 500, steps = 500, each = 60, memory = 200, nodes = 500;
  double seconds = 0;  // 0: as many as there are seeds
  Weights weights;
  Release release;
  bool is_loud = false, is_demanding = false, goes_on = false;
};

double seconds_of(const std::string& text) {
  const double number = std::strtod(text.c_str(), nullptr);
  return text.ends_with("h") ? number * 3600 : text.ends_with("m") ? number * 60 : number;
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void report(const History& history, const Outcome& outcome, const Arguments& arguments) {
  std::printf("FAILED seed %llu at step %zu: %s: %s\n", static_cast<unsigned long long>(history.seed),
              outcome.step, outcome.violation->invariant.c_str(), outcome.violation->what.c_str());
  if (arguments.goes_on) return;
  for (const std::string& line : outcome.log) std::printf("  log: %s\n", line.c_str());
  const History shorter = shortened(history, outcome, 20);
  std::printf("  the shortest history found that breaks it has %zu steps:\n", shorter.steps.size());
  for (const Step& step : shorter.steps) std::printf("    %s\n", describe(step).c_str());
  const Outcome again = run_history(shorter, arguments.is_loud);
  if (again.violation)
    std::printf("  there: %s: %s\n", again.violation->invariant.c_str(), again.violation->what.c_str());
}

// What a run of some size must have contained, and in which share of its histories; observed at the daemon's
// ports, in its log and in its decisions.
struct Demand {
  const char* what;
  double share;
};
constexpr Demand kDemands[] = {{"policy edit during a hotplug", 1.0 / 3},
                               {"restart during a write", 0.1},
                               {"restart", 0.5},
                               {"reboot", 0},
                               {"410", 0.1},
                               {"overflow", 0.1},
                               {"conflict", 0.1},
                               {"restored", 0.1},
                               {"wiped", 0},
                               {"fight", 0},
                               {"squatter", 0},
                               {"lost reply", 0},
                               {"busy", 0},
                               {"denied", 0},
                               {"timeout", 0},
                               {"silent watch", 0},
                               {"broken connection", 0},
                               {"write refused", 0},
                               {"entry refused", 0},
                               {"kind not installed", 0},
                               {"list without WatchList", 0},
                               {"relisted", 0},
                               {"bookmark", 0},
                               {"read failed", 0},
                               {"read hung", 0},
                               {"facts recovered", 0},
                               {"interface away", 0},
                               {"in use by the host", 0},
                               {"half there", 0},
                               {"not ready", 0.1},
                               {"ready, not for long enough", 0.1},
                               {"kept without what it was ready by", 0},
                               {"a persona is not ready", 0.1},
                               {"kept beside claims", 0},
                               {"tainted for what it has lost", 0},
                               {"udevd has finished with an interface", 0.3},
                               {"node gone", 0},
                               {"new generation", 0},
                               {"several slices", 0},
                               {"start without slices", 0.1},
                               {"404 of nobody", 0.2},
                               {"forgotten kinds", 0},
                               {"objects not asked for", 0.1},
                               {"any answer", 0},
                               {"lost excludes", 0},
                               {"list without what was known", 0},
                               {"a write where others leave no room", 0},
                               {"slice spoilt", 0},
                               {"slice terminating", 0},
                               {"slice held", 0},
                               {"excluded", 0.3},
                               {"exclude unknown", 0.1},
                               {"which policy has a VF is unknown", 0},
                               {"a VF stays by a policy that may have it", 0},
                               {"a PF is asked for who begins to ask", 0.1},
                               {"a MAC goes without a word", 0},
                               {"exclude unreadable", 0.1},
                               {"interface later than its driver", 0},
                               {"nothing moves", 0.3},
                               {"pool incomplete for a moment", 0},
                               {"claim allocated", 0.25},
                               {"the shape of an exclusive holding changes", 0.15},
                               {"slices are wiped while claims exist", 0.1},
                               {"restart while claims exist", 0.2},
                               {"restart with claims and without their slices", 0.1},
                               {"a late claim of what was withdrawn", 0.05},
                               {"shown free by the claims", 0.1},
                               {"shown free by its claim alone", 0.02},
                               {"claim gone before it is taken back", 0.05},
                               {"offered again after the release", 0.05},
                               {"rest of all that claims can show", 0.2},
                               {"unverified pool", 0.1},
                               {"charged by the claims alone", 0},
                               {"withdrawn for what is allocated beside it", 0},
                               {"claims cannot be listed", 0},
                               {"held by the other driver", 0},
                               {"left to the other driver", 0},
                               {"withdrawn before it is offered in another way", 0},
                               {"claim of a SriovResourcePolicy's VF", 0},
                               {"a pod has the interface of its claim", 0},
                               {"excluded while it is held", 0.05},
                               {"left out for want of counters", 0},
                               {"an exclude that cannot be understood holds a persona back", 0}};

// The same of histories whose scheduler is Kubernetes' own.
constexpr Demand kDemandsOfClaims[] = {{"Kubernetes' allocator gives a claim of one", 0.9},
                                       {"Kubernetes' allocator gives a claim of two", 0.8},
                                       {"Kubernetes' allocator refuses a claim of two", 0.8},
                                       {"Kubernetes' allocator gives a claim of an amount", 0.1},
                                       {"Kubernetes' allocator refuses a claim of an amount", 0.1},
                                       {"Kubernetes' allocator gives a claim of several of a class", 0.5},
                                       {"Kubernetes' allocator refuses a claim of several of a class", 0.5},
                                       {"Kubernetes' allocator gives a claim of a whole class", 0.1},
                                       {"Kubernetes' allocator refuses a claim of a whole class", 0.5},
                                       {"a claim asks for an amount of a capacity", 0.05},
                                       {"Kubernetes' allocator finds too few tokens", 0.4},
                                       {"Kubernetes' allocator finds too little capacity", 0.05},
                                       {"Kubernetes' allocator finds it allocated", 0.6},
                                       {"claim allocated", 0.8},
                                       {"claim of several devices of a class", 0.3},
                                       {"another share is allocated", 0.1},
                                       {"a claim takes two of a capacity", 0.03},
                                       {"claim of a SriovResourcePolicy's VF", 0.5},
                                       {"a late claim of what was withdrawn", 0.3},
                                       {"the shape of an exclusive holding changes", 0.3},
                                       {"restart while claims exist", 0.5},
                                       {"restart with claims and without their slices", 0.5},
                                       {"offered again after the release", 0.25},
                                       {"in use by the host", 0.2},
                                       {"reboot", 0.1},
                                       {"another version", 0.02},
                                       {"a server without counters", 0.03},
                                       {"a server without shared devices", 0.03}};

size_t unmet_demands(std::span<const Demand> demands, const std::map<std::string, size_t>& histories,
                     size_t all) {
  size_t unmet = 0;
  for (const auto& [what, share] : demands) {
    const auto at = histories.find(what);
    const size_t count = at == histories.end() ? 0 : at->second;
    if (count > 0 && static_cast<double>(count) >= share * static_cast<double>(all)) continue;
    std::printf("FAILED %zu of %zu histories contained: %s\n", count, all, what);
    ++unmet;
  }
  return unmet;
}

Tally random_histories(const Arguments& arguments) {
  const double start = now_seconds();
  const size_t failed_max = arguments.goes_on ? SIZE_MAX : 3;
  KubeAllocator kubernetes;
  const bool is_of_claims = arguments.mode == "worlds";
  Tally tally;
  std::map<std::string, size_t> histories;
  size_t writes = 0;
  for (uint64_t seed = arguments.seed; tally.failed < failed_max; ++seed) {
    const bool enough = arguments.seconds > 0 ? now_seconds() - start > arguments.seconds
                                              : seed >= arguments.seed + arguments.seeds;
    if (enough) break;
    History history = is_of_claims ? make_history(seed, arguments.steps, arguments.weights,
                                                  knobs_of_claims(seed, arguments.release))
                                   : make_history(seed, arguments.steps, arguments.weights);
    if (is_of_claims) history.kubernetes = &kubernetes;
    const Outcome outcome = run_history(history);
    for (const auto& [what, count] : outcome.seen) ++histories[what];
    writes += outcome.writes;
    ++(outcome.violation ? tally.failed : tally.passed);
    if (outcome.violation) report(history, outcome, arguments);
  }
  const size_t all = tally.passed + tally.failed;
  for (const auto& [what, count] : histories)
    std::printf("  %6zu of %zu histories: %s\n", count, all, what.c_str());
  std::printf("%zu histories of %zu steps, %zu writes, in %.1f s\n", all, arguments.steps, writes,
              now_seconds() - start);
  const bool has_all = arguments.release.counters && arguments.release.shared;
  if (!arguments.is_demanding || (is_of_claims && !has_all)) return tally;
  const std::span<const Demand> demands = is_of_claims ? kDemandsOfClaims : std::span<const Demand>(kDemands);
  const size_t unmet = unmet_demands(demands, histories, all);
  tally.failed += unmet;
  tally.passed += demands.size() - unmet;
  return tally;
}

// A history that is not the same twice cannot be looked into.
Tally replayed(const Arguments& arguments) {
  Tally tally;
  for (uint64_t seed = arguments.seed; seed < arguments.seed + 10; ++seed) {
    const History history = make_history(seed, arguments.steps);
    const Outcome first = run_history(history), second = run_history(history);
    const bool same = first.trace == second.trace && first.step == second.step;
    ++(same ? tally.passed : tally.failed);
    if (!same) std::printf("FAILED seed %llu is not the same twice\n", static_cast<unsigned long long>(seed));
  }
  const uint64_t one = run_history(make_history(1, 50)).trace, other = run_history(make_history(2, 50)).trace;
  ++(one != other ? tally.passed : tally.failed);
  if (one == other) std::printf("FAILED the trace does not tell histories apart\n");
  return tally;
}

Release release_of(const std::string& text) {
  return {text.substr(0, text.find(',')), text.find(",counters") != std::string::npos,
          text.find(",shared") != std::string::npos};
}

bool read_arguments(const std::vector<std::string>& words, Arguments& out) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) {
      out.mode = word;
      continue;
    }
    if (word == "--loud" || word == "--demand" || word == "--all") {
      (word == "--loud" ? out.is_loud : word == "--demand" ? out.is_demanding : out.goes_on) = true;
      continue;
    }
    if (i + 1 == words.size()) return false;
    const std::string& value = words[++i];
    const uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    if (word == "--seed")
      out.seed = number, out.seeds = 1;
    else if (word == "--first")
      out.seed = number;
    else if (word == "--seeds")
      out.seeds = number;
    else if (word == "--steps")
      out.steps = number;
    else if (const size_t equals = value.find('=');
             word == "--weight" && equals != std::string::npos && is_step(value.substr(0, equals)))
      out.weights[value.substr(0, equals)] = std::strtod(value.c_str() + equals + 1, nullptr);
    else if (word == "--for")
      out.seconds = seconds_of(value);
    else if (word == "--release")
      out.release = release_of(value);
    else if (word == "--scenario")
      out.mode = "faults", out.scenario = value;
    else if (word == "--each")
      out.each = number;
    else if (word == "--memory")
      out.memory = number;
    else if (word == "--nodes")
      out.nodes = number;
    else
      return false;
  }
  return true;
}

int run(const std::vector<std::string>& words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Arguments arguments;
  const bool understood = read_arguments(words, arguments);
  Tally tally;
  if (understood && (arguments.mode == "histories" || arguments.mode == "worlds")) {
    tally = random_histories(arguments);
  } else if (understood && arguments.mode == "faults") {
    tally = sweep_faults(arguments.scenario, arguments.each, arguments.memory);
  } else if (understood && arguments.mode == "replay") {
    tally = replayed(arguments);
  } else if (understood && arguments.mode == "kubelet") {
    tally = play_kubelets(arguments.seed, arguments.seeds, arguments.steps, arguments.is_loud);
  } else if (understood && arguments.mode == "scale") {
    tally = measure_scale(arguments.nodes);
  } else if (understood && arguments.mode == "power-up") {
    tally = measure_power_up(arguments.nodes);
  } else {
    std::fputs(kUsage, stderr);
    return 2;
  }
  // The last line is read by ./dev.
  std::printf("simulate %s: %zu passed, %zu failed\n", arguments.mode.c_str(), tally.passed, tally.failed);
  return tally.failed == 0 && tally.passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace sliced::sim

int main(int count, char** words) {
  return sliced::sim::run(std::vector<std::string>(words + 1, words + count));
}
