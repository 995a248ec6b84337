// Expressions, over a host device, over a published one and over none.
#include <ctime>

#include "cel/parser.h"
#include "cel/published_device.h"
#include "policy/exposure/selector.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::cel_target {
using cel::Answer;

namespace {

const hotplug::HostDevice& host_device() {
  static const hotplug::HostDevice it = [] {
    hotplug::HostDevice vf{
        .id = {"0000:03:00.2"}, .type = hotplug::DeviceType::kVf, .pci = hotplug::PciAddress{0, 3, 0, 2}};
    vf.vendor = "15b3";
    vf.pf_name = "enp3s0f0";
    vf.vf_index = 0;
    return vf;
  }();
  return it;
}

const kube::Device& entry() {
  static const kube::Device it = [] {
    kube::Device device;
    device.name = "d";
    device.attributes = {{"b", true},
                         {"i", int64_t{42}},
                         {"s", std::string("fish")},
                         {"u", std::string("h\xC3\xA9llo")},
                         {"v", kube::Version{"1.2.3"}},
                         {"li", std::vector<int64_t>{3, 1, 2}},
                         {"ls", std::vector<std::string>{"sriov", "host-device"}},
                         {"other.example.com/x", int64_t{7}}};
    device.capacity = {{"mem", {.value = kube::Quantity::decode("1Mi").value()}},
                       {"half", {.value = kube::Quantity::decode("500m").value()}}};
    return device;
  }();
  return it;
}

// "column N: ..." with a column of the text, or just behind it.
void check_refusal(std::string_view text, const Error& error) {
  fuzz::check(error);
  std::string_view what = error.what;
  fuzz::must(what.starts_with("column "), "a refusal begins with its column", what);
  what.remove_prefix(7);
  const size_t end = what.find(':');
  int64_t column = 0;
  for (const char digit : what.substr(0, end)) column = column * 10 + (digit - '0');
  fuzz::must(column >= 1 && column <= cel::Place::column(text, static_cast<int32_t>(text.size())),
             "the column lies in the text", error.what);
}

bool is_limit(std::string_view what) {
  return what.find(" deep") != std::string_view::npos || what.find("too large") != std::string_view::npos ||
         what.find("long") != std::string_view::npos || what.find("may ") != std::string_view::npos ||
         what.find("too much work") != std::string_view::npos;
}

struct Asked {
  Answer::Is is = Answer::Is::kError;
  std::string error;
  uint64_t cost = 0, steps = 0;
  bool operator==(const Asked&) const = default;
};

Asked ask(const cel::Program& program, const cel::Device& device) {
  cel::Evaluator evaluator;
  Asked out;
  out.is = evaluator.select(program, device);
  out.error = evaluator.error_text(program);
  out.cost = evaluator.cost();
  out.steps = evaluator.steps();
  fuzz::check_text(out.error);
  fuzz::must((out.is == Answer::Is::kError) == !out.error.empty(), "an error has a text", program.text());
  // A step that goes beyond is the last one; none costs more than all elements that fit into memory.
  fuzz::must(out.cost <= 3 * cel::kCostMax || is_limit(out.error), "the cost is bounded", program.text());
  // Nor takes a single call more steps than that before it is asked.
  fuzz::must(out.steps <= 4 * cel::kStepsMax || is_limit(out.error), "the steps are bounded", program.text());
  return out;
}

// Another expression around this one. Only a limit may refuse it.
template <class Compile>
void check_wrapped(const std::string& text, const std::string& before, const std::string& after,
                   const cel::Device& device, const Compile& compile, const Asked& wanted) {
  const std::string whole =
      before + text + after;  // after begins with a new line: the text may end in a comment
  const auto program = compile(whole);
  if (!program) return fuzz::must(is_limit(program.error().what), program.error().what.c_str(), whole);
  const Asked got = ask(*program, device);
  if (is_limit(got.error) || is_limit(wanted.error)) return;
  fuzz::must(got.is == wanted.is, "what is around an expression does what it says", whole);
}

template <class Compile>
void check_selector(const std::string& text, const cel::Device& device, const Compile& compile) {
  const auto program = compile(text);
  if (!program) {
    check_refusal(text, program.error());
    const auto again = compile(text);
    return fuzz::must(!again && again.error().what == program.error().what, "refused for the same", text);
  }
  const Asked first = ask(*program, device);
  fuzz::must(first == ask(*program, device), "an expression is a function of its device", text);
  fuzz::must(first == ask(*compile(text), device), "compiled again it is the same", text);
  const auto with = [&](Answer::Is is) { return Asked{is, first.error, 0, 0}; };
  const bool is_error = first.is == Answer::Is::kError;
  const Answer::Is opposite = first.is == Answer::Is::kTrue ? Answer::Is::kFalse : Answer::Is::kTrue;
  check_wrapped(text, "!(", "\n)", device, compile, with(is_error ? first.is : opposite));
  check_wrapped(text, "(", "\n) || true", device, compile, with(Answer::Is::kTrue));
  check_wrapped(text, "false && (", "\n)", device, compile, with(Answer::Is::kFalse));
  check_wrapped(text, "(", "\n) && true", device, compile, with(first.is));
  check_wrapped(text, "(", "\n) ? true : false", device, compile, with(first.is));
  check_wrapped(text, "[1].all(unused, ", "\n)", device, compile, with(first.is));
  check_wrapped(text, "cel.bind(unused, 1, ", "\n)", device, compile, with(first.is));
}

// The language alone, with variables of every kind: whatever it gives, it gives twice.
void check_language(const std::string& text) {
  cel::Environment environment{.is_homogeneous = false, .has_device = false, .requires_bool = false};
  environment.variables = {{"x", "int"}, {"s", "string"}, {"l", "list(int)"}, {"m", "map(string, dyn)"}};
  const auto program = cel::Program::compile(text, environment);
  if (!program) return check_refusal(text, program.error());
  cel::Evaluation values;
  cel::Activation activation;
  const auto three = cel::Value::of(int64_t{3});
  activation.variables = {three, cel::Value::of(std::string_view("fish")), values.list({three, three})};
  cel::Evaluator evaluator, other;
  const cel::Value first = evaluator.evaluate(*program, activation);
  const cel::Value second = other.evaluate(*program, activation);
  fuzz::must(first.kind == second.kind, "a value has the same kind again", text);
  fuzz::must(evaluator.error_text(*program) == other.error_text(*program), "an error is the same", text);
  fuzz::check_text(evaluator.error_text(*program));
  cel::Arena room(size_t{16} << 20);
  if (!first.is_error() && cel::equal(first, first, room).value_or(false))
    fuzz::must(cel::equal(first, second, room).value_or(false), "a value is the same again", text);
}

#ifdef SLICED_FUZZ_TIME
// Time a step (cel/arena.h), by the clock of the thread: a machine that is busy takes nothing of that but the
// warmth of its caches, which is why the best of some runs counts.

constexpr int64_t kStepNanos = 100, kConstantNanos = 20'000'000;

int64_t thread_nanos() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// work: does it once, and gives the steps that it took.
template <class Work>
void must_take_its_time(const Work& work, const char* what, std::string_view text) {
  constexpr int kRuns = 5;
  int64_t nanos = 0, allowed = 0;
  for (int run = 0; run < kRuns; ++run) {
    const int64_t begin = thread_nanos();
    allowed = kConstantNanos + kStepNanos * static_cast<int64_t>(work());
    nanos = thread_nanos() - begin;
    if (nanos <= allowed) return;
  }
  const std::string figures = std::to_string(nanos) + " ns, allowed are " + std::to_string(allowed) + "\n";
  fuzz::must(false, what, figures + std::string(text));
}

void check_time(const std::string& text, const cel::Device& device) {
  const cel::Environment language{.is_homogeneous = false, .has_device = false, .requires_bool = false};
  for (const auto* environment : {&cel::selector_environment(), &language}) {
    const auto compiling = [&] {
      cel::Mistake mistake;
      const auto program = cel::Program::compile(text, *environment, &mistake);
      return program ? program->compile_steps() : mistake.steps;
    };
    must_take_its_time(compiling, "compiling takes at most 100 ns a step", text);
    const auto program = cel::Program::compile(text, *environment);
    if (!program) continue;
    const auto evaluating = [&] {
      cel::Evaluator evaluator;
      cel::Activation activation;
      activation.device = &device;
      evaluator.evaluate(*program, activation);
      (void)evaluator.error_text(*program);
      return evaluator.steps();
    };
    must_take_its_time(evaluating, "evaluating takes at most 100 ns a step", text);
  }
}
#endif

}  // namespace

FUZZ_TARGET(cel) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const cel::PublishedDevice published("dra.example.com", entry());
#ifdef SLICED_FUZZ_TIME
  return check_time(text, published), 0;
#endif
  check_selector(text, published, [](const std::string& it) {
    return cel::Program::compile(it, cel::selector_environment());
  });
  static policy::HostDeviceView* const host = [] {
    auto* view = new policy::HostDeviceView("dra.networking");
    view->set_device({host_device()});
    return view;
  }();
  check_selector(text, *host,
                 [](const std::string& it) { return policy::compile_selector(it, "dra.networking"); });
  check_language(text);
  return 0;
}

}  // namespace sliced::fuzz::cel_target
