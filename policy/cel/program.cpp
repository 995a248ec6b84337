#include "policy/cel/program.h"

#include <algorithm>

#include "policy/cel/checker.h"
#include "policy/cel/lib/regex.h"
#include "policy/cel/library.h"
#include "policy/cel/parser.h"
#include "policy/cel/walk.h"

namespace sliced::cel {
namespace {

constexpr size_t kProgramBytesMax = size_t{4} << 20, kFirstBlock = 1024;

bool is_literal(const Node* node) { return node->op == Op::kLiteral && !node->value.is_error(); }

// "x in []", whose x upstream does not evaluate.
bool is_never_in(const Node& node) {
  const Node* list = node.op == Op::kCall && node.name == "@in" ? node.arg_list[1] : nullptr;
  return list != nullptr && is_literal(list) && list->value.kind == Kind::kList &&
         list->value.list->size == 0;
}

bool converts(std::string_view function) {
  constexpr std::string_view kConversions[] = {"bool", "bytes",  "double",    "duration", "dyn",
                                               "int",  "string", "timestamp", "uint"};
  return std::find(std::begin(kConversions), std::end(kConversions), function) != std::end(kConversions);
}

}  // namespace

struct Program::State {
  State() : constants(kProgramBytesMax, kFirstBlock) {}
  std::string text;
  Evaluation constants;  // nodes and folded values
  Checked checked;
  Node* root = nullptr;
  bool refuses_failing = false;  // conversions of constants, as Kubernetes does

  // Patterns that are literals are compiled once; false when one is no pattern, as upstream's compiler says.
  bool compile_patterns(Node& node, Mistake& mistake) {
    for (Node* arg : node.args())
      if (!compile_patterns(*arg, mistake)) return false;
    const bool has_pattern = node.op == Op::kCall && node.arg_count >= 2 &&
                             (node.name == "matches" || node.name == "find" || node.name == "findAll");
    if (!has_pattern || !is_literal(node.arg_list[1]) || node.arg_list[1]->value.kind != Kind::kString)
      return true;
    auto compiled = Regex::compile(node.arg_list[1]->value.text());
    if (!compiled) {
      mistake = {node.arg_list[1]->offset, compiled.error().what};
      return false;
    }
    checked.patterns.push_back(std::make_shared<const Regex>(std::move(*compiled)));
    node.regex = checked.patterns.back().get();
    return true;
  }

  // Calls with constants become constants. false when one can only fail and upstream's compiler, which knows
  // the values of literals, of lists and maps of them and of their conversions, refuses it for that.
  bool fold(Node& node, Mistake& mistake, bool& is_known) {
    const bool is_conversion = node.op == Op::kCall && node.arg_count == 1 && converts(node.name);
    is_known = node.op == Op::kLiteral || node.op == Op::kMap || is_conversion;
    const bool is_decided = refuses_failing && is_never_in(node);
    for (Node* arg : node.args()) {
      bool is_arg_known = false;
      if (!fold(*arg, mistake, is_arg_known)) return false;
      is_known = is_known && is_arg_known;
    }
    if (is_decided) {
      node.op = Op::kLiteral;
      node.value = Value::of(false);
      return true;
    }
    const bool is_foldable = (node.op == Op::kCall || node.op == Op::kIndex || node.op == Op::kMap) &&
                             !node.is_optional && node.optional_args == nullptr &&
                             std::all_of(node.args().begin(), node.args().end(), is_literal);
    if (!is_foldable) return true;
    constants.begin_more();
    const Value value = walk(node, constants, checked.paths, {});
    if (!value.is_error()) {
      node.op = Op::kLiteral;
      node.value = value;
      return true;
    }
    if (!is_conversion || !is_known || !refuses_failing) return true;  // it fails when it is met
    mistake = {node.offset, value.error->text()};
    return false;
  }

  bool fold(Mistake& mistake) {
    bool is_known = false;
    return fold(*root, mistake, is_known);
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

Result<Program> Program::compile(std::string text, const Environment& environment, Mistake* told) {
  auto state = std::make_unique<State>();
  state->text = std::move(text);
  state->refuses_failing = environment.has_device;
  Mistake mistake;
  Arena& arena = state->constants.arena;
  state->root = parse(state->text, {.macros = environment.macros}, arena, mistake);
  const bool is_good =
      state->root != nullptr && check(*state->root, environment, arena, state->checked, mistake) &&
      (!environment.check || (state->compile_patterns(*state->root, mistake) && state->fold(mistake)));
  if (!is_good) {
    if (told != nullptr) *told = mistake;
    return Error{Errc::kInvalid, "column " + std::to_string(Place::column(state->text, mistake.offset)) +
                                     ": " + mistake.what};
  }
  return Program(std::move(state));
}

const std::string& Program::text() const { return state_->text; }
const Node& Program::root() const { return *state_->root; }
const std::vector<Path>& Program::paths() const { return state_->checked.paths; }
size_t Program::locals() const { return state_->checked.locals; }
const Type& Program::type() const { return *state_->root->type; }

Value Evaluator::evaluate(const Program& program, const Activation& activation, uint64_t cost_max) {
  in_.begin(cost_max);
  if (in_.locals.size() < program.locals()) in_.locals.resize(program.locals());
  last_ = walk(program.root(), in_, program.paths(), activation);
  if (in_.is_beyond() && !last_.is_error())
    last_ = in_.fail(in_.arena.is_exhausted() ? Failure::kNoMemory : Failure::kCost);
  return last_;
}

Answer::Is Evaluator::select(const Program& program, const Device& device, uint64_t cost_max) {
  activation_.device = &device;
  const Value value = evaluate(program, activation_, cost_max);
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
