#include "cel/program.h"

#include <algorithm>
#include <deque>

#include "cel/checker.h"
#include "cel/lib/regex.h"
#include "cel/library.h"
#include "cel/parser.h"
#include "cel/walk.h"

namespace sliced::cel {
namespace {

static_assert(sizeof(void*) != 8 || sizeof(Node) <= 112, "nodes are most of a program's memory");

constexpr size_t kProgramBytesMax = size_t{2} << 20, kFirstBlock = 256;
// Limit of folding: more expensive calls with constants are evaluated at run time.
constexpr uint64_t kFoldStepsMax = 20'000;
constexpr size_t kFoldBytesMax = size_t{256} << 10;
constexpr size_t kPatternMemoryMax = size_t{2} << 20;  // of all patterns of an expression

bool is_literal(const Node* node) { return node->op == Op::kLiteral && !node->value.is_error(); }

bool converts(std::string_view function) {
  constexpr std::string_view kConversions[] = {"bool", "bytes",  "double",    "duration", "dyn",
                                               "int",  "string", "timestamp", "type",     "uint"};
  return std::find(std::begin(kConversions), std::end(kConversions), function) != std::end(kConversions);
}

constexpr EvalError kStepsExceeded{Failure::kSteps, -1, {}};
constexpr const char* kTooMuchWork =
    "compiling the expression takes too much work: fewer or smaller regular expressions and constants are "
    "wanted";

}  // namespace

struct Program::State {
  explicit State(uint64_t steps_max) : constants(kProgramBytesMax, kFirstBlock) {
    constants.arena.limit_steps(steps_max);
  }
  std::string text;
  Evaluation constants;  // texts, lists and types of nodes, and folded values
  Checked checked;
  std::vector<Node> tree;        // the root first
  bool refuses_failing = false;  // conversions of constants, as Kubernetes does
  size_t folded_bytes = 0, pattern_memory = 0;

  // Returns the pattern, compiled once for all occurrences; nullptr if it is invalid, or there are too many.
  const Regex* pattern(std::string_view text, std::string& why) {
    for (const auto& [known, regex] : checked.patterns)
      if (known == text) return regex.get();
    const PatternBound bound = bound_of(text);
    pattern_memory += bound.memory;
    if (pattern_memory > kPatternMemoryMax) why = "the regular expressions together are too large";
    if (!constants.step(bound.compile_steps)) why = kTooMuchWork;
    if (!why.empty()) return nullptr;
    auto compiled = Regex::compile(text, bound);
    if (!compiled) {
      why = compiled.error().what;
      return nullptr;
    }
    checked.patterns.emplace_back(text, std::make_unique<const Regex>(std::move(*compiled)));
    return checked.patterns.back().second.get();
  }

  // Compiles constant patterns, including those of dyn() and similar calls, with the expression; returns
  // false if one is invalid, as upstream's compiler does.
  bool compile_patterns(Node& node, Mistake& mistake, bool is_folded = false) {
    for (Node* arg : node.args())
      if (!compile_patterns(*arg, mistake, is_folded)) return false;
    const bool has_pattern = node.op == Op::kCall && node.arg_count >= 2 &&
                             (node.name == "matches" || node.name == "find" || node.name == "findAll");
    const bool is_known = has_pattern && node.regex == nullptr && is_literal(node.arg_list[1]);
    if (!is_known || node.arg_list[1]->value.kind != Kind::kString) return true;
    if (is_folded && !node.arg_list[1]->is_constant) return true;  // upstream's compiler does not know it
    std::string why;
    node.regex = pattern(node.arg_list[1]->value.text(), why);
    if (node.regex == nullptr) mistake = {node.arg_list[1]->offset, why};
    return node.regex != nullptr;
  }

  // Upstream's compiler knows the values of literals, of lists and maps of them, and of their conversions,
  // and refuses a conversion that can only fail. This one also folds other constant expressions; upstream's
  // charge for them is kept in the node. Returns false if the expression is refused.
  bool fold(Node& node, Mistake& mistake) {
    for (Node* arg : node.args())
      if (!fold(*arg, mistake)) return false;
    mark(node);
    if (has_no_index(node)) {
      mistake = {node.arg_list[1]->offset, "an index is a bool, a number or a string"};
      return false;
    }
    if (node.op == Op::kList && node.is_constant && node.optional_args == nullptr)
      return evaluate(node, mistake);
    const bool is_calculated = node.op == Op::kCall || node.op == Op::kMap;
    const bool is_foldable = is_calculated && node.optional_args == nullptr &&
                             std::all_of(node.args().begin(), node.args().end(), is_literal);
    return !is_foldable || evaluate(node, mistake);
  }

  // Marks nodes that upstream treats as constants.
  void mark(Node& node) {
    const auto is_constant = [](const Node* arg) { return arg->is_constant; };
    const bool are_constant = std::all_of(node.args().begin(), node.args().end(), is_constant);
    const bool is_aggregate = node.op == Op::kList || node.op == Op::kMap;
    node.is_constant |= node.op == Op::kLiteral || (are_constant && (is_aggregate || is_conversion(node)));
    const Node* list = node.op == Op::kCall && node.name == "@in" ? node.arg_list[1] : nullptr;
    if (list == nullptr || !node.is_only_overload || !list->is_constant || !is_literal(list)) return;
    const Value& value = list->value;
    if (value.kind != Kind::kList) return;
    node.is_lookup = std::all_of(value.list->begin(), value.list->end(), [](const Value& item) {
      return item.is_number() || item.kind == Kind::kBool || item.kind == Kind::kString;
    });
    if (value.list->size > 0) return;
    node.op = Op::kLiteral;
    node.value = Value::of(false);
    node.is_constant = true;
  }

  static bool is_conversion(const Node& node) {
    return node.op == Op::kCall && node.arg_count == 1 && converts(node.name);
  }

  bool has_no_index(const Node& node) const {
    if (!refuses_failing || node.op != Op::kIndex || !node.arg_list[1]->is_constant) return false;
    const Value& key = node.arg_list[1]->value;
    return !key.is_number() && key.kind != Kind::kString && key.kind != Kind::kBool;
  }

  // Returns the permanent value of a constant expression; an error if it has none, or is too expensive to
  // fold.
  Value calculated(const Node& node) {
    Arena& arena = constants.arena;
    const Arena::Mark mark = arena.mark();
    const uint64_t steps = arena.steps(), steps_max = arena.steps_max();
    const size_t bytes = arena.used();
    constants.begin_more();
    arena.limit_steps(std::min(steps_max, steps + kFoldStepsMax));
    const Value value = walk(node, constants, checked.paths, {});
    const bool is_kept = !constants.is_beyond() && arena.used() - bytes <= kFoldBytesMax - folded_bytes;
    arena.limit_steps(steps_max);
    if (is_kept) {
      folded_bytes += arena.used() - bytes;
      return value;
    }
    arena.release(mark);
    return Value::of(&kStepsExceeded);
  }

  bool evaluate(Node& node, Mistake& mistake) {
    const Value value = calculated(node);
    if (constants.arena.is_worn_out()) {
      mistake = {node.offset, kTooMuchWork};
      return false;
    }
    if (!value.is_error()) {
      node.price = static_cast<uint32_t>(node.is_constant ? 0 : constants.cost());
      node.op = Op::kLiteral;
      node.value = value;
      return true;
    }
    const bool breaks_off = value.error->failure == Failure::kBreaksOff;
    if (!refuses_failing || !node.is_constant || (!is_conversion(node) && !breaks_off))
      return true;  // fails when met
    mistake = {node.offset, value.error->text()};
    return false;
  }

  // Returns whether an evaluation does not visit the node's arguments: the parts of a path or of a qualified
  // name, and folded nodes.
  static bool is_leaf(const Node& node) {
    return node.op == Op::kLiteral || node.op == Op::kLocal || node.op == Op::kVariable ||
           node.op == Op::kAttribute || (node.op == Op::kHas && node.slot >= 0);
  }
  static size_t count(const Node& node) {
    size_t out = 1;
    if (!is_leaf(node))
      for (const Node* arg : node.args()) out += count(*arg);
    return out;
  }
  // Copies the nodes that evaluations visit. Requires: the tree has room, because nodes point to each other.
  Node* copy_tree(const Node& node) {
    Node& copy = tree.emplace_back(node);
    if (is_leaf(node)) copy.arg_count = 0;
    for (uint32_t i = 0; i < copy.arg_count; ++i) copy.arg_list[i] = copy_tree(*copy.arg_list[i]);
    return &copy;
  }
};

int Place::column(std::string_view text, int32_t offset) {
  int column = 1;
  for (size_t i = 0; i < text.size() && i < static_cast<size_t>(std::max(offset, 0)); ++i)
    column += (text[i] & 0xC0) != 0x80;
  return column;
}

const Environment& selector_environment() {
  static const Environment it;
  return it;
}

Program::Program(std::unique_ptr<State> state) : state_(std::move(state)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Result<Program> Program::compile(std::string text, const Environment& environment, Mistake* mistake_out,
                                 uint64_t steps_max) {
  auto state = std::make_unique<State>(steps_max);
  state->text = std::move(text);
  state->refuses_failing = environment.has_device;
  Mistake mistake;
  Arena& arena = state->constants.arena;
  std::deque<Node> nodes;
  Node* root = parse(state->text, {.macros = environment.macros}, nodes, arena, mistake);
  const bool is_good =
      root != nullptr && check(*root, environment, arena, state->checked, mistake) &&
      (!environment.check || (state->compile_patterns(*root, mistake) && state->fold(*root, mistake) &&
                              state->compile_patterns(*root, mistake, true)));
  mistake.steps = state->constants.steps();
  if (!is_good) {
    if (arena.is_worn_out()) mistake.what = kTooMuchWork;
    if (mistake_out != nullptr) *mistake_out = mistake;
    return Error{Errc::kInvalid, "column " + std::to_string(Place::column(state->text, mistake.offset)) +
                                     ": " + mistake.what};
  }
  state->tree.reserve(State::count(*root));
  state->copy_tree(*root);
  return Program(std::move(state));
}

const std::string& Program::text() const { return state_->text; }
const Node& Program::root() const { return state_->tree.front(); }
const std::vector<Path>& Program::paths() const { return state_->checked.paths; }
size_t Program::locals() const { return state_->checked.locals; }
const Type& Program::type() const { return *root().type; }
uint64_t Program::compile_steps() const { return state_->constants.steps(); }
size_t Program::memory() const {
  const auto held = [](const std::string& text) { return text.capacity() + 1; };  // with its NUL
  const Checked& checked = state_->checked;
  size_t out = sizeof(State) + held(state_->text) + state_->constants.arena.allocated_bytes() +
               state_->tree.capacity() * sizeof(Node) + checked.paths.capacity() * sizeof(Path) +
               checked.patterns.capacity() * (sizeof(checked.patterns[0]) + sizeof(Regex)) +
               state_->pattern_memory;
  for (const Path& path : checked.paths) out += held(path.key);
  return out;
}

Value Evaluator::evaluate(const Program& program, const Activation& activation, uint64_t cost_max,
                          uint64_t steps_max) {
  in_.begin(cost_max, steps_max);
  if (in_.locals.size() < program.locals()) in_.locals.resize(program.locals());
  last_ = walk(program.root(), in_, program.paths(), activation);
  const bool is_told = last_.is_error() && ends_evaluation(last_.error->failure);
  if (in_.is_beyond() && !is_told) last_ = in_.fail(in_.limit(), {}, program.root().offset);
  return last_;
}

Answer::Is Evaluator::select(const Program& program, const Device& device, uint64_t cost_max,
                             uint64_t steps_max) {
  activation_.device = &device;
  Value value = evaluate(program, activation_, cost_max, steps_max);
  while (value.kind == Kind::kOptional && value.optional != nullptr)
    value = *value.optional;  // as upstream converts
  if (value.kind == Kind::kBool) return value.b ? Answer::Is::kTrue : Answer::Is::kFalse;
  if (!value.is_error()) last_ = in_.fail(Failure::kNotBool, name_of(value.kind), program.root().offset);
  return Answer::Is::kError;
}

std::string Evaluator::error_text(const Program& program) const {
  if (!last_.is_error()) return "";
  const EvalError& error = *last_.error;
  if (error.offset < 0) return error.text();
  return error.text() + " (column " + std::to_string(Place::column(program.text(), error.offset)) + ")";
}

}  // namespace sliced::cel
