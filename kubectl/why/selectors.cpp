#include "kubectl/why/selectors.h"

#include "cel/published_device.h"
#include "kube/objects/resource_slice.h"
#include "reactor/base/text.h"

namespace sliced::why {
namespace {

constexpr uint64_t kAskSteps = 10;  // of looking a device up

// Returns the end of the text literal that begins there. Raw and triple-quoted ones may be cut at a wrong
// place; such a part does not compile, and is not used.
size_t end_of_literal(std::string_view text, size_t begin) {
  for (size_t at = begin + 1; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == text[begin])
      return at;
  }
  return text.size();
}

// Returns "domain/id is "b"" for the entry's value.
std::string found_at(const cel::Path& path, const Candidate& candidate) {
  const kube::ResourceSlice& slice = candidate.slice->common;
  const std::string id(path.id()), key = path.domain() == slice.driver ? id : path.key;
  if (path.is_capacity) {
    for (const auto& name : {path.key, key})
      if (const auto found = candidate.device->capacity.find(name); found != candidate.device->capacity.end())
        return id + " is " + found->second.value.text();
    return "there is no capacity " + path.key;
  }
  for (const auto& name : {path.key, key})
    if (const auto found = candidate.device->attributes.find(name);
        found != candidate.device->attributes.end())
      return id + " is " + kube::describe_attribute(found->second);
  return "there is no " + path.key;
}

}  // namespace

std::vector<std::string> conjuncts(std::string_view expression) {
  std::vector<std::string> out;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at < expression.size(); ++at) {
    const char c = expression[at];
    if (c == '"' || c == '\'') {
      at = end_of_literal(expression, at);
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (depth == 0 && (c == '?' || expression.substr(at, 2) == "||")) {
      return {std::string(trim(expression))};  // binds weaker than &&
    } else if (depth == 0 && expression.substr(at, 2) == "&&") {
      out.emplace_back(trim(expression.substr(begin, at - begin)));
      begin = ++at + 1;
    }
  }
  out.emplace_back(trim(expression.substr(std::min(begin, expression.size()))));
  return out;
}

Selectors::Compiled& Selectors::compile(const std::string& expression) {
  const auto [at, is_new] = programs_.try_emplace(expression);
  Compiled& out = at->second;
  if (!is_new) return out;
  out.index = programs_.size();
  auto program = cel::Program::compile(expression, cel::selector_environment());
  if (program) {
    take(program->compile_steps());
    out.program = std::make_unique<cel::Program>(*std::move(program));
  } else {
    out.error = program.error().what;
  }
  return out;
}

cel::Answer::Is Selectors::select(const Compiled& compiled, const Candidate& candidate) {
  const cel::PublishedDevice device(candidate.slice->common.driver, *candidate.device);
  const auto is = evaluator_.select(*compiled.program, device);
  take(evaluator_.steps() + kAskSteps);
  return is;
}

SelectorResult Selectors::ask(const std::string& expression, const Candidate& candidate) {
  if (is_spent()) return SelectorResult::kNo;
  const Compiled& compiled = compile(expression);
  if (compiled.program == nullptr) return SelectorResult::kError;
  const auto [at, is_new] = answers_.try_emplace({compiled.index, candidate.device}, SelectorResult::kNo);
  if (!is_new) return at->second;
  const auto is = select(compiled, candidate);
  return at->second = is == cel::Answer::Is::kTrue    ? SelectorResult::kYes
                      : is == cel::Answer::Is::kFalse ? SelectorResult::kNo
                                                      : SelectorResult::kError;
}

std::string compared_driver(std::string_view expression) {
  constexpr std::string_view kDriver = "device.driver", kEqual = "==";
  for (const std::string& part : conjuncts(expression)) {
    std::string_view rest = trim(part);
    if (!rest.starts_with(kDriver)) continue;
    rest = trim(rest.substr(kDriver.size()));
    if (!rest.starts_with(kEqual)) continue;
    rest = trim(rest.substr(kEqual.size()));
    if (rest.size() < 2 || (rest.front() != '"' && rest.front() != '\'') || rest.back() != rest.front())
      continue;
    const std::string_view name = rest.substr(1, rest.size() - 2);
    if (name.find_first_of("\"'\\ ") == std::string_view::npos) return std::string(name);
  }
  return "";
}

const std::vector<cel::Path>& Selectors::paths_of(const std::string& expression) {
  static const std::vector<cel::Path> none;
  const Compiled& compiled = compile(expression);
  return compiled.program == nullptr ? none : compiled.program->paths();
}

std::string Selectors::error_of(const std::string& expression, const Candidate& candidate) {
  const Compiled& compiled = compile(expression);
  if (compiled.program == nullptr) return compiled.error;
  return select(compiled, candidate) == cel::Answer::Is::kError ? evaluator_.error_text(*compiled.program)
                                                                : "";
}

std::string Selectors::mismatch_of(const std::string& expression, const Candidate& candidate) {
  std::string part = expression;
  for (const std::string& one : conjuncts(expression))
    if (compile(one).program != nullptr && ask(one, candidate) == SelectorResult::kNo) {
      part = one;
      break;
    }
  const Compiled& compiled = compile(part);
  std::string out = part;
  if (compiled.program == nullptr) return out;
  for (const cel::Path& path : compiled.program->paths()) out += "; " + found_at(path, candidate);
  for (const char* field : {"device.driver"})
    if (part.find(field) != std::string::npos) out += "; the driver is " + candidate.slice->common.driver;
  return out;
}

}  // namespace sliced::why
