#include "cel/types.h"

#include <algorithm>
#include <array>

#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

constexpr int kKinds = static_cast<int>(Kind::kFormat) + 1;

struct Plain {
  std::array<Type, kKinds> types;
  Type dyn, any{.tag = Type::Tag::kAny};
  std::array<Type, 3> parameters;
  Plain() {
    for (int kind = 0; kind < kKinds; ++kind) {
      types[kind] = {.tag = Type::Tag::kPlain, .kind = static_cast<Kind>(kind)};
      const auto is = [&](Kind of) { return kind == static_cast<int>(of); };
      if (is(Kind::kList) || is(Kind::kMap) || is(Kind::kOptional)) types[kind].first = &dyn;
      if (is(Kind::kMap)) types[kind].second = &dyn;
    }
    for (uint8_t i = 0; i < 3; ++i) parameters[i] = {.tag = Type::Tag::kParameter, .parameter = i};
  }
};
const Plain& plain() {
  static const Plain it;
  return it;
}

struct TypeName {
  std::string_view text;
  Kind kind;
};
constexpr TypeName kTypeKeywords[] = {{"null", Kind::kNull},
                                      {"bool", Kind::kBool},
                                      {"int", Kind::kInt},
                                      {"uint", Kind::kUint},
                                      {"double", Kind::kDouble},
                                      {"string", Kind::kString},
                                      {"bytes", Kind::kBytes},
                                      {"type", Kind::kType},
                                      {"timestamp", Kind::kTimestamp},
                                      {"duration", Kind::kDuration},
                                      {"google.protobuf.Timestamp", Kind::kTimestamp},
                                      {"google.protobuf.Duration", Kind::kDuration},
                                      {"null_type", Kind::kNull},
                                      {"Quantity", Kind::kQuantity},
                                      {"Semver", Kind::kSemver},
                                      {"IP", Kind::kIp},
                                      {"CIDR", Kind::kCidr},
                                      {"URL", Kind::kUrl},
                                      {"Format", Kind::kFormat}};

const Type* make(Kind kind, const Type* first, const Type* second, Arena& arena) {
  if (first == nullptr) return nullptr;
  Type* type = arena.make<Type>();
  if (type == nullptr) return plain_type(kind);
  const int within = std::max<int>(first->depth, second == nullptr ? 0 : second->depth);
  const int parts = first->size + (second == nullptr ? 0 : second->size);
  *type = {.tag = Type::Tag::kPlain,
           .kind = kind,
           .depth = static_cast<uint16_t>(std::min(within, kTypeDepthMax) + 1),
           .size = static_cast<uint16_t>(std::min(parts, kTypeSizeMax) + 1),
           .first = first,
           .second = second};
  return type;
}

// Splits the text between the outer brackets of "list(...)" at the commas of its own level.
std::vector<std::string_view> parts_of(std::string_view inner) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] == '(') ++depth;
    if (inner[i] == ')') --depth;
    if (inner[i] != ',' || depth > 0) continue;
    parts.push_back(trim(inner.substr(from, i - from)));
    from = i + 1;
  }
  parts.push_back(trim(inner.substr(from)));
  return parts;
}

constexpr int kTextDepthMax = 8;

std::string text_of(const Type& type, int depth) {
  if (type.is_dyn()) return "dyn";
  if (type.tag == Type::Tag::kParameter) return std::string(1, static_cast<char>('A' + type.parameter));
  std::string out(name_of(type.kind));
  if (type.first == nullptr) return out;
  if (depth == 0) return out + "(...)";
  out += "(" + text_of(*type.first, depth - 1);
  if (type.second != nullptr) out += ", " + text_of(*type.second, depth - 1);
  return out + ")";
}

}  // namespace

const Type* dyn_type() { return &plain().dyn; }
const Type* any_type() { return &plain().any; }
const Type* plain_type(Kind kind) { return &plain().types[static_cast<int>(kind)]; }
const Type* parameter_type(int index) { return &plain().parameters[static_cast<size_t>(index)]; }

const Type* list_of(const Type* item, Arena& arena) { return make(Kind::kList, item, nullptr, arena); }
const Type* map_of(const Type* key, const Type* value, Arena& arena) {
  return make(Kind::kMap, key, value, arena);
}
const Type* type_of(const Type* type, Arena& arena) { return make(Kind::kType, type, nullptr, arena); }
const Type* optional_of(const Type* item, Arena& arena) {
  return make(Kind::kOptional, item, nullptr, arena);
}

std::string text_of(const Type& type) { return text_of(type, kTextDepthMax); }

const Type* parse_type(std::string_view text, Arena& arena) {
  if (text == "dyn") return dyn_type();
  if (text.size() == 1 && text[0] >= 'A' && text[0] <= 'C') return parameter_type(text[0] - 'A');
  for (const TypeName& keyword : kTypeKeywords)
    if (keyword.text == text) return plain_type(keyword.kind);
  const size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(")")) return nullptr;
  const std::string_view outer = text.substr(0, open);
  const auto parts = parts_of(text.substr(open + 1, text.size() - open - 2));
  const Type* first = parse_type(parts[0], arena);
  if (outer == "list" && parts.size() == 1) return list_of(first, arena);
  if ((outer == "optional" || outer == "optional_type") && parts.size() == 1)
    return optional_of(first, arena);
  if (outer == "type" && parts.size() == 1) return type_of(first, arena);
  if (outer == "map" && parts.size() == 2) {
    const Type* second = parse_type(parts[1], arena);
    return second == nullptr ? nullptr : map_of(first, second, arena);
  }
  return nullptr;
}

bool has_any(const Type& type) {
  return type.tag == Type::Tag::kAny || (type.first != nullptr && has_any(*type.first)) ||
         (type.second != nullptr && has_any(*type.second));
}

const Type* unified(const Type* a, const Type* b, Arena& arena) {
  if (a->tag == Type::Tag::kAny) return b;
  if (a == b || b->tag == Type::Tag::kAny) return a;
  if (a->tag != b->tag || a->kind != b->kind || a->parameter != b->parameter) return nullptr;
  if ((a->first == nullptr) != (b->first == nullptr)) return nullptr;
  if (a->first == nullptr) return a;
  const Type* first = unified(a->first, b->first, arena);
  const Type* second = a->second == nullptr ? nullptr : unified(a->second, b->second, arena);
  if (first == nullptr || (second == nullptr && a->second != nullptr)) return nullptr;
  if (first == a->first && second == a->second) return a;
  return make(a->kind, first, second, arena);
}

bool is_general(const Type* a, const Type* b) {
  if (a->tag != Type::Tag::kPlain) return true;
  if (b->tag != Type::Tag::kPlain || a->kind != b->kind) return false;
  if (a->is(Kind::kType) || a->first == nullptr || b->first == nullptr) return true;
  return is_general(a->first, b->first) && (a->second == nullptr || is_general(a->second, b->second));
}

const Type* joined(const Type* a, const Type* b, Arena& arena) {
  const Type* one = unified(a, b, arena);
  return one == nullptr ? dyn_type() : one;
}

bool is_nullable(const Type& type) { return type.tag == Type::Tag::kPlain && type.kind >= Kind::kTimestamp; }

bool fits(const Type* actual, const Type* expected, Bindings& bindings) {
  if (expected->tag == Type::Tag::kParameter) {
    const Type*& bound_type = bindings.of[expected->parameter];
    if (bound_type == nullptr || bound_type->tag == Type::Tag::kAny) bound_type = actual;
    if (bound_type->tag == Type::Tag::kDyn) return true;
    Bindings none;
    if (!fits(actual, bound_type, none)) return false;
    if (actual->tag == Type::Tag::kDyn) bound_type = actual;
    return true;
  }
  if (actual->is_dyn() || expected->is_dyn()) return true;
  if (actual->kind != expected->kind)
    return (actual->is(Kind::kNull) && is_nullable(*expected)) ||
           (expected->is(Kind::kNull) && is_nullable(*actual));
  if (actual->is(Kind::kType)) return true;
  if (expected->first != nullptr && actual->first != nullptr &&
      !fits(actual->first, expected->first, bindings))
    return false;
  return expected->second == nullptr || actual->second == nullptr ||
         fits(actual->second, expected->second, bindings);
}

const Type* bound(const Type* expected, const Bindings& bindings, Arena& arena) {
  if (expected->tag == Type::Tag::kParameter) {
    const Type* bound_type = bindings.of[expected->parameter];
    return bound_type == nullptr ? any_type() : bound_type;
  }
  if (expected->first == nullptr) return expected;
  const Type* first = bound(expected->first, bindings, arena);
  const Type* second = expected->second == nullptr ? nullptr : bound(expected->second, bindings, arena);
  if (first == expected->first && second == expected->second) return expected;
  return make(expected->kind, first, second, arena);
}

bool is_ordered(const Type& type) {
  constexpr Kind kOrdered[] = {Kind::kInt,    Kind::kUint,  Kind::kDouble,    Kind::kBool,
                               Kind::kString, Kind::kBytes, Kind::kTimestamp, Kind::kDuration};
  return type.is_dyn() ||
         std::any_of(std::begin(kOrdered), std::end(kOrdered), [&](Kind kind) { return type.is(kind); });
}

}  // namespace sliced::cel
