#include "cel/library.h"

#include <algorithm>
#include <cassert>

#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

bool may_be(const Type* type, const Value& value) {
  return type->tag != Type::Tag::kPlain || type->kind == value.kind;
}

struct Signature {
  std::string_view name;
  Overload overload;
};

Signature read(std::string_view text, Arena& types) {
  Signature out;
  const size_t close = text.rfind("): ");
  assert(close != std::string_view::npos);
  out.overload.result = parse_type(text.substr(close + 3), types);
  // The opening bracket of the arguments is the partner of the last closing one.
  size_t open = close;
  for (int depth = 1; depth > 0;) {
    --open;
    depth += text[open] == ')' ? 1 : text[open] == '(' ? -1 : 0;
  }
  out.name = text.substr(0, open);
  if (const size_t dot = out.name.rfind('.'); dot != std::string_view::npos) {
    if (const Type* receiver = parse_type(out.name.substr(0, dot), types)) {
      out.overload.is_member = true;
      out.overload.args.push_back(receiver);
      out.name.remove_prefix(dot + 1);
    }
  }
  std::string_view rest = text.substr(open + 1, close - open - 1);
  for (int depth = 0; !rest.empty();) {
    size_t end = 0;
    while (end < rest.size() && (depth > 0 || rest[end] != ',')) {
      depth += rest[end] == '(' ? 1 : rest[end] == ')' ? -1 : 0;
      ++end;
    }
    out.overload.args.push_back(parse_type(trim(rest.substr(0, end)), types));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  assert(out.overload.result != nullptr &&
         std::find(out.overload.args.begin(), out.overload.args.end(), nullptr) == out.overload.args.end());
  return out;
}

}  // namespace

bool Overload::accepts(const Value* arguments, size_t count) const {
  if (count != args.size()) return false;
  for (size_t i = 0; i < count; ++i)
    if (!may_be(args[i], arguments[i])) return false;
  return true;
}

const Library& Library::kubernetes() {
  static const Library it;
  return it;
}

Library::Library() : types_(size_t{1} << 20) {
  for (const auto& declarations :
       {operators(), conversions(), texts(), collections(), times(), kubernetes_types(), formats()})
    add(declarations);
  std::sort(functions_.begin(), functions_.end(),
            [](const Function& a, const Function& b) { return a.name < b.name; });
}

void Library::add(std::span<const Declaration> declarations) {
  for (const Declaration& declaration : declarations) {
    Signature signature = read(declaration.signature, types_);
    signature.overload.run = declaration.run;
    signature.overload.price =
        price_tag(signature.name, signature.overload.is_member, signature.overload.args);
    auto at = std::find_if(functions_.begin(), functions_.end(),
                           [&](const Function& function) { return function.name == signature.name; });
    if (at == functions_.end()) at = functions_.insert(at, {std::string(signature.name), {}});
    at->overloads.push_back(std::move(signature.overload));
  }
}

const Function* Library::find(std::string_view name) const {
  const auto at = std::lower_bound(
      functions_.begin(), functions_.end(), name,
      [](const Function& function, std::string_view key) { return std::string_view(function.name) < key; });
  return at == functions_.end() || at->name != name ? nullptr : &*at;
}

std::vector<std::string_view> Library::names() const {
  std::vector<std::string_view> out;
  for (const Function& function : functions_) out.push_back(function.name);
  return out;
}

}  // namespace sliced::cel
