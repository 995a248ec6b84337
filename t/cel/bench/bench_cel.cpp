// bench_cel FILE: evaluates FILE's expressions for every device of its slices, in rounds, and prints as JSON
// what one evaluation takes (the median round's) and what memory the compiled expressions hold. FILE:
// {"expressions": [text], "slices": [ResourceSlice]}. Called by ../upstream's benchmark, which stands beside
// it.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <vector>

#include "cel/library.h"
#include "cel/program.h"
#include "cel/published_device.h"
#include "kube/objects/json.h"
#include "kube/objects/resource_slice.h"

using namespace sliced;

namespace {

constexpr int kRounds = 9;

size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::vector<cel::Program> compile(const kube::Json& expressions) {
  std::vector<cel::Program> out;
  for (const kube::Json& text : *expressions.array()) {
    auto program = cel::Program::compile(*text.string(), cel::selector_environment());
    if (!program) {
      std::fprintf(stderr, "%s: %s\n", text.string()->c_str(), program.error().what.c_str());
      std::exit(1);
    }
    out.push_back(std::move(*program));
  }
  return out;
}

struct Round {
  double ns = 0;  // of one evaluation
  size_t matches = 0, errors = 0;
};

Round evaluate(const std::vector<cel::Program>& programs, const std::vector<kube::ResourceSlice>& slices) {
  using Clock = std::chrono::steady_clock;
  cel::Evaluator evaluator;
  Round out;
  size_t evaluations = 0;
  const auto start = Clock::now();
  for (const kube::ResourceSlice& slice : slices) {
    for (const auto& entry : slice.devices) {
      const cel::PublishedDevice device(slice.driver, *entry);
      for (const cel::Program& program : programs) {
        const auto is = evaluator.select(program, device);
        out.matches += is == cel::Answer::Is::kTrue;
        out.errors += is == cel::Answer::Is::kError;
        ++evaluations;
      }
    }
  }
  const std::chrono::duration<double, std::nano> took = Clock::now() - start;
  out.ns = took.count() / static_cast<double>(std::max<size_t>(evaluations, 1));
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "");
  std::stringstream text;
  text << file.rdbuf();
  const auto work = kube::decode_json(text.str());
  if (!work) {
    std::fprintf(stderr, "usage: bench_cel FILE: %s\n", work.error().what.c_str());
    return 1;
  }
  std::vector<kube::ResourceSlice> slices;
  for (const kube::Json& one : *work->find("slices")->array()) {
    auto slice = kube::decode_resource_slice(one);
    if (!slice) {
      std::fprintf(stderr, "%s\n", slice.error().what.c_str());
      return 1;
    }
    slices.push_back(std::move(*slice));
  }
  const kube::Json& expressions = *work->find("expressions");
  const size_t before = heap_bytes();
  const auto programs = compile(expressions);
  const size_t whole = heap_bytes() - before;  // with the library, which the first one makes
  const size_t again = heap_bytes();
  const auto more = compile(expressions);
  const size_t each = (heap_bytes() - again) / more.size();
  std::vector<Round> rounds;
  for (int i = 0; i < kRounds; ++i) rounds.push_back(evaluate(programs, slices));
  std::sort(rounds.begin(), rounds.end(), [](const Round& a, const Round& b) { return a.ns < b.ns; });
  const Round& median = rounds[kRounds / 2];
  std::printf(
      "{\"ns\": %.1f, \"matches\": %zu, \"errors\": %zu, \"bytes_each\": %zu, \"bytes_whole\": %zu}\n",
      median.ns, median.matches, median.errors, each, whole);
}
