#include "cel/parser.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "cel/lexer.h"
#include "cel/lib/numbers.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

struct MacroForm {
  std::string_view name;
  size_t args;
  Macro macro;
  int variables;
};
// Macros by name and number of arguments. With another number the name is an ordinary function.
constexpr MacroForm kMacros[] = {
    {"all", 2, Macro::kAll, 1},
    {"all", 3, Macro::kAll, 2},
    {"exists", 2, Macro::kExists, 1},
    {"exists", 3, Macro::kExists, 2},
    {"exists_one", 2, Macro::kExistsOne, 1},
    {"exists_one", 3, Macro::kExistsOne, 2},
    {"existsOne", 3, Macro::kExistsOne, 2},
    {"map", 2, Macro::kMap, 1},
    {"map", 3, Macro::kMap, 1},
    {"filter", 2, Macro::kFilter, 1},
    {"transformList", 3, Macro::kTransformList, 2},
    {"transformList", 4, Macro::kTransformList, 2},
    {"transformMap", 3, Macro::kTransformMap, 2},
    {"transformMap", 4, Macro::kTransformMap, 2},
    {"transformMapEntry", 3, Macro::kTransformMapEntry, 2},
    {"transformMapEntry", 4, Macro::kTransformMapEntry, 2},
    {"optMap", 2, Macro::kOptMap, 1},
    {"optFlatMap", 2, Macro::kOptFlatMap, 1},
    {"sortBy", 2, Macro::kSortBy, 1},
};

// Upstream refuses it as a variable over lists and maps.
constexpr std::string_view kGathered = "__result__";

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options, std::deque<Node>& nodes, Arena& arena,
         Mistake& mistake)
      : lexer_(text), options_(options), nodes_(nodes), arena_(arena), mistake_(mistake) {}

  Node* run() {
    Node* root = expression();
    if (root != nullptr && lexer_.token() != Token::kEnd) return unexpected("the end");
    return root;
  }

 private:
  // Each returns nullptr after a mistake, which is recorded once.
  Node* wrong(int32_t offset, std::string what) {
    if (mistake_.what.empty()) mistake_ = {offset, std::move(what)};
    return nullptr;
  }

  Node* unexpected(std::string_view expected) {
    if (lexer_.token() == Token::kWrong) return wrong(lexer_.offset(), lexer_.content());
    std::string found = "end of the expression";
    if (lexer_.token() == Token::kString || lexer_.token() == Token::kBytes)
      found = "a string";
    else if (lexer_.token() != Token::kEnd)
      found = in_quotes(lexer_.spelled(), 32);
    if (lexer_.token() == Token::kReserved) found += ", a reserved word,";
    return wrong(lexer_.offset(), "unexpected " + found + ", expected " + std::string(expected));
  }

  Node* node(Op op, int32_t offset) {
    if (!arena_.charge(sizeof(Node))) return wrong(offset, "the expression is too large");
    arena_.step_for(sizeof(Node), kBlockBytes);
    Node& made = nodes_.emplace_back();
    made.op = op;
    made.offset = offset;
    return &made;
  }

  Node* too_deep(int32_t offset) {
    return wrong(offset, "the expression is nested more than " + std::to_string(kRecursionMax) + " deep");
  }

  // Returns whether cel-go counts the node for the height of the tree.
  static bool is_high(const Node& node) {
    switch (node.op) {
      case Op::kSelect:
      case Op::kIndex:
      case Op::kConditional:
      case Op::kMacro:
        return true;
      case Op::kCall:
        return node.is_member || is_binary(node);
      default:
        return false;
    }
  }
  static bool is_binary(const Node& call) { return call.name[0] == '_' || call.name == "@in"; }

  Node* with(Node* parent, const std::vector<Node*>& args, const std::vector<bool>& optional = {}) {
    if (parent == nullptr) return nullptr;
    const bool any_optional = std::find(optional.begin(), optional.end(), true) != optional.end();
    Node** list = arena_.array<Node*>(std::max<size_t>(args.size(), 1));
    bool* marks = any_optional ? arena_.array<bool>(optional.size()) : nullptr;
    if (list == nullptr || (any_optional && marks == nullptr))
      return wrong(parent->offset, "the expression is too large");
    int height = 0;
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i] == nullptr) return nullptr;
      list[i] = args[i];
      height = std::max(height, static_cast<int>(args[i]->height));
    }
    if (is_high(*parent)) ++height;
    if (height > kRecursionMax) return too_deep(parent->offset);
    if (any_optional) std::copy(optional.begin(), optional.end(), marks);
    parent->height = static_cast<uint8_t>(height);
    parent->arg_list = list;
    parent->arg_count = static_cast<uint32_t>(args.size());
    parent->optional_args = marks;
    return parent;
  }

  Node* call(std::string_view function, int32_t offset, const std::vector<Node*>& args) {
    Node* made = node(Op::kCall, offset);
    if (made != nullptr) made->name = function;
    return with(made, args);
  }

  bool take(std::string_view sign) {
    if (!lexer_.is(sign)) return false;
    lexer_.next();
    return true;
  }
  bool want(std::string_view sign) {
    if (take(sign)) return true;
    unexpected("\"" + std::string(sign) + "\"");
    return false;
  }

  Node* expression() { return inside(expressions_, &Parser::conditional); }

  // A part within one more of the rule that `depth` counts.
  template <class Part>
  Node* inside(int& depth, Part part) {
    if (++depth > kRecursionMax) return too_deep(lexer_.offset());
    Node* out = (this->*part)();
    --depth;
    return out;
  }

  Node* conditional() {
    Node* condition = any_of();
    if (condition == nullptr || !lexer_.is("?")) return condition;
    const int32_t offset = lexer_.offset();
    lexer_.next();
    Node* then = any_of();
    if (then == nullptr || !want(":")) return nullptr;
    Node* otherwise = expression();
    return with(node(Op::kConditional, offset), {condition, then, otherwise});
  }

  // Chains are flat: they cost no depth.
  template <class Part>
  Node* chain(Op op, std::string_view sign, Part part) {
    std::vector<Node*> parts{(this->*part)()};
    const int32_t offset = lexer_.offset();
    while (parts.back() != nullptr && take(sign)) parts.push_back((this->*part)());
    if (parts.back() == nullptr) return nullptr;
    return parts.size() == 1 ? parts[0] : with(node(op, offset), parts);
  }
  Node* any_of() { return chain(Op::kOr, "||", &Parser::all_of); }
  Node* all_of() { return chain(Op::kAnd, "&&", &Parser::relation); }
  Node* relation() { return inside(relations_, &Parser::relations); }
  Node* sum() { return inside(sums_, &Parser::terms); }

  // depth: of the grammar rule; the right side of an operator is one deeper.
  template <class Part>
  Node* left_to_right(std::initializer_list<std::pair<std::string_view, std::string_view>> operators,
                      int& depth, Part part) {
    Node* left = (this->*part)();
    while (left != nullptr) {
      const auto found = std::find_if(operators.begin(), operators.end(),
                                      [this](const auto& entry) { return lexer_.is(entry.first); });
      if (found == operators.end()) break;
      const int32_t offset = lexer_.offset();
      lexer_.next();
      Node* right = inside(depth, part);
      left = call(found->second, offset, {left, right});
    }
    return left;
  }
  Node* relations() {
    return left_to_right({{"==", "_==_"},
                          {"!=", "_!=_"},
                          {"<=", "_<=_"},
                          {">=", "_>=_"},
                          {"<", "_<_"},
                          {">", "_>_"},
                          {"in", "@in"}},
                         relations_, &Parser::sum);
  }
  Node* terms() { return left_to_right({{"+", "_+_"}, {"-", "_-_"}}, sums_, &Parser::product); }
  Node* product() { return left_to_right({{"*", "_*_"}, {"/", "_/_"}, {"%", "_%_"}}, sums_, &Parser::unary); }

  // Only the parity of a run counts. A single minus before a number belongs to the number, and no other may
  // follow a !.
  Node* unary() {
    const int32_t offset = lexer_.offset();
    bool is_not = false, has_not = false;
    for (; take("!"); has_not = true) is_not = !is_not;
    const int32_t minus_offset = lexer_.offset();
    int minuses = 0;
    while (take("-")) ++minuses;
    const bool is_number = lexer_.token() == Token::kInt || lexer_.token() == Token::kDouble;
    if (has_not && minuses > 0 && !(minuses == 1 && is_number)) return unexpected("a value after !");
    Node* out = member(minuses == 1 && is_number ? minus_offset : -1);
    if (minuses % 2 == 1 && !(minuses == 1 && is_number)) out = call("-_", offset, {out});
    return is_not ? call("!_", offset, {out}) : out;
  }

  // minus: the offset of a sign that belongs to the following number; -1 if none.
  Node* member(int32_t minus) {
    Node* out = primary(minus);
    while (out != nullptr) {
      const int32_t offset = lexer_.offset();
      if (take(".")) {
        const bool is_optional = take("?");
        out = after_dot(out, is_optional, offset);
      } else if (take("[")) {
        const bool is_optional = take("?");
        Node* key = expression();
        if (key == nullptr || !want("]")) return nullptr;
        Node* index = node(Op::kIndex, offset);
        if (index != nullptr) index->is_optional = is_optional;
        out = with(index, {out, key});
      } else if (lexer_.is("{") && (out->op == Op::kName || out->op == Op::kSelect)) {
        return wrong(offset, "messages cannot be made here: there are no message types");
      } else {
        break;
      }
    }
    return out;
  }

  Node* after_dot(Node* target, bool is_optional, int32_t offset) {
    const Token token = lexer_.token();
    // Reserved words are permitted here, except the literals and `in`.
    if (token != Token::kName && token != Token::kReserved) return unexpected("a name");
    const std::string_view name = lexer_.spelled();
    lexer_.next();
    if (!is_optional && take("(")) {
      std::vector<Node*> args;
      if (!arguments(args)) return nullptr;
      return member_call(target, name, args, offset);
    }
    Node* select = node(Op::kSelect, offset);
    if (select == nullptr) return nullptr;
    select->name = name;
    select->is_optional = is_optional;
    return with(select, {target});
  }

  bool arguments(std::vector<Node*>& args) {
    if (take(")")) return true;
    do {
      args.push_back(expression());
      if (args.back() == nullptr) return false;
    } while (take(","));
    return want(")");
  }

  Node* member_call(Node* target, std::string_view name, std::vector<Node*>& args, int32_t offset) {
    if (options_.macros) {
      if (name == "bind" && args.size() == 3 && target->op == Op::kName && target->name == "cel")
        return macro(Macro::kBind, 1, args[1], {args[0], args[2]}, name, offset);
      for (const MacroForm& form : kMacros)
        if (form.name == name && form.args == args.size())
          return macro(form.macro, form.variables, target, args, name, offset);
    }
    args.insert(args.begin(), target);
    Node* made = node(Op::kCall, offset);
    if (made == nullptr) return nullptr;
    made->name = name;
    made->is_member = true;
    return with(made, args);
  }

  // args: the variables, then the evaluated expressions.
  Node* macro(Macro kind, int variables, Node* range, const std::vector<Node*>& args, std::string_view name,
              int32_t offset) {
    Node* made = node(Op::kMacro, offset);
    if (made == nullptr) return nullptr;
    made->macro = kind;
    made->has_two_variables = variables == 2;
    std::string_view names[2];
    for (int i = 0; i < variables; ++i) {
      const Node& variable = *args[i];
      if (variable.op != Op::kName || variable.is_absolute)
        return wrong(variable.offset, "the argument of " + std::string(name) + "() must be a simple name");
      names[i] = variable.name;
    }
    made->name = names[0];
    if (variables == 2) made->value = Value::of(names[1]);
    const bool gathers = kind != Macro::kBind && kind != Macro::kOptMap && kind != Macro::kOptFlatMap;
    if (gathers && (names[0] == kGathered || names[1] == kGathered))
      return wrong(args[0]->offset,
                   std::string(kGathered) + " is a name that " + std::string(name) + "() needs");
    if (variables == 2 && names[0] == names[1])
      return wrong(args[1]->offset, "the two variables of " + std::string(name) + "() have one name");
    std::vector<Node*> parts{range};
    parts.insert(parts.end(), args.begin() + variables, args.end());
    return with(made, parts);
  }

  Node* primary(int32_t minus) {
    const int32_t offset = minus >= 0 ? minus : lexer_.offset();
    switch (lexer_.token()) {
      case Token::kInt:
      case Token::kUint:
      case Token::kDouble:
        return number(minus >= 0, offset);
      case Token::kString:
      case Token::kBytes:
        return text(offset);
      case Token::kName:
        return name(false);
      default:
        break;
    }
    if (take("(")) {
      Node* inner = expression();
      return inner != nullptr && want(")") ? inner : nullptr;
    }
    if (lexer_.is("[")) return list(offset);
    if (lexer_.is("{")) return map(offset);
    if (take(".")) return lexer_.token() == Token::kName ? name(true) : unexpected("a name");
    if (take("true")) return literal(Value::of(true), offset);
    if (take("false")) return literal(Value::of(false), offset);
    if (take("null")) return literal(Value::null(), offset);
    return unexpected("a value");
  }

  Node* literal(Value value, int32_t offset) {
    Node* made = node(Op::kLiteral, offset);
    if (made != nullptr) made->value = value;
    return made;
  }

  Node* text(int32_t offset) {
    const std::string& content = lexer_.content();
    const std::string_view kept = arena_.copy(content);
    if (kept.size() != content.size()) return wrong(offset, "the expression is too large");
    const Kind kind = lexer_.token() == Token::kBytes ? Kind::kBytes : Kind::kString;
    if (kind == Kind::kString && !is_utf8(kept)) return wrong(offset, "the string is not UTF-8");
    lexer_.next();
    return literal(Value::of(kept, kind), offset);
  }

  Node* number(bool is_negative, int32_t offset) {
    std::string digits(lexer_.spelled());
    const Token kind = lexer_.token();
    lexer_.next();
    if (kind == Token::kDouble) {
      const auto value = to_double(digits);  // 0 where it is too small
      if (!value) return wrong(offset, digits + " is not a number that fits 64 bits");
      return literal(Value::of(is_negative ? -*value : *value), offset);
    }
    const bool is_hex = digits.starts_with("0x");
    const char* from = digits.data() + (is_hex ? 2 : 0);
    const char* to = digits.data() + digits.size();
    uint64_t value = 0;
    const bool fits = std::from_chars(from, to, value, is_hex ? 16 : 10).ec == std::errc();
    if (kind == Token::kUint)
      return fits ? literal(Value::of(value), offset) : wrong(offset, digits + "u does not fit 64 bits");
    constexpr uint64_t kMin = uint64_t{1} << 63;
    if (!fits || value > (is_negative ? kMin : kMin - 1))
      return wrong(offset, (is_negative ? "-" : "") + digits + " does not fit a signed number of 64 bits");
    const auto signed_value = static_cast<int64_t>(is_negative ? 0 - value : value);
    return literal(Value::of(signed_value), offset);
  }

  Node* name(bool is_absolute) {
    const int32_t offset = lexer_.offset();
    const std::string_view word = lexer_.spelled();
    lexer_.next();
    if (take("(")) {
      std::vector<Node*> args;
      if (!arguments(args)) return nullptr;
      if (options_.macros && word == "has" && args.size() == 1) return has(args[0]);
      Node* made = call(word, offset, args);
      if (made != nullptr) made->is_absolute = is_absolute;
      return made;
    }
    Node* made = node(Op::kName, offset);
    if (made == nullptr) return nullptr;
    made->name = word;
    made->is_absolute = is_absolute;
    return made;
  }

  Node* has(Node* what) {
    if (what->op != Op::kSelect || what->is_optional)
      return wrong(what->offset, "has() requires a field selection, such as has(a.b)");
    what->op = Op::kHas;
    return what;
  }

  Node* list(int32_t offset) {
    lexer_.next();
    std::vector<Node*> items;
    std::vector<bool> optional;
    if (!take(",")) {
      while (!lexer_.is("]")) {
        optional.push_back(take("?"));
        items.push_back(expression());
        if (items.back() == nullptr) return nullptr;
        if (!take(",")) break;
      }
    }
    return want("]") ? with(node(Op::kList, offset), items, optional) : nullptr;
  }

  Node* map(int32_t offset) {
    lexer_.next();
    std::vector<Node*> parts;
    std::vector<bool> optional;
    if (!take(",")) {
      while (!lexer_.is("}")) {
        optional.push_back(take("?"));
        parts.push_back(expression());
        if (parts.back() == nullptr || !want(":")) return nullptr;
        parts.push_back(expression());
        if (parts.back() == nullptr) return nullptr;
        if (!take(",")) break;
      }
    }
    return want("}") ? with(node(Op::kMap, offset), parts, optional) : nullptr;
  }

  Lexer lexer_;
  const ParseOptions& options_;
  std::deque<Node>& nodes_;
  Arena& arena_;
  Mistake& mistake_;
  int expressions_ = 0, relations_ = 0, sums_ = 0;  // each: how many of the rule are open
};

}  // namespace

Node* parse(std::string_view text, const ParseOptions& options, std::deque<Node>& nodes, Arena& arena,
            Mistake& mistake) {
  if (text.size() > kExpressionBytesMax) {
    mistake = {0, "the expression has " + std::to_string(text.size()) + " bytes, at most " +
                      std::to_string(kExpressionBytesMax) + " are allowed"};
    return nullptr;
  }
  if (!is_utf8(text)) {
    mistake = {0, "the expression is not UTF-8"};
    return nullptr;
  }
  if (!arena.step(text.size())) {
    mistake = {0, "the expression is too large"};
    return nullptr;
  }
  return Parser(text, options, nodes, arena, mistake).run();
}

}  // namespace sliced::cel
