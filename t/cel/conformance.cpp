// cel_conformance [--passed N] [--scope FILE] PATH...: runs cases of the form of corpus/README.md, from files
// or all *.jsonl below folders. Prints those that fail and, last, "passed/total (out of scope N)"; exits with
// 1 when one fails or a file cannot be read, when fewer than N pass, and when what is out of scope is not
// what FILE says: lines "SECTION COUNT reason".
//
// Cases with a `device` run in the environment of device selectors, with Kubernetes' semantics; all others in
// that of the language. Out of scope are cases that fail here and that Kubernetes
// rejects or answers differently, and those that need a table of time zones.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "cel/library.h"
#include "cel/program.h"
#include "cel/published_device.h"
#include "kube/objects/json.h"
#include "kube/objects/resource_slice.h"
#include "reactor/base/base64.h"

namespace {

using namespace sliced;
using namespace sliced::cel;
using kube::Json;

int64_t int_of(const Json& text) {
  if (text.integer() != nullptr) return *text.integer();
  return text.string() == nullptr ? 0 : std::strtoll(text.string()->c_str(), nullptr, 10);
}
Time time_of(const Json& value) {
  const Json *seconds = value.find("seconds"), *nanos = value.find("nanos");
  return {seconds == nullptr ? 0 : int_of(*seconds),
          nanos == nullptr ? 0 : static_cast<int32_t>(int_of(*nanos)), 0};
}

// A typed value of a case; kept in the arena.
Value typed(const Json& value, Evaluation& in) {
  const auto& [kind, content] = value.object()->front();
  const std::string text = content.string() == nullptr ? "" : *content.string();
  if (kind == "null") return Value::null();
  if (kind == "bool") return Value::of(*content.boolean());
  if (kind == "int") return Value::of(int_of(content));
  if (kind == "uint") return Value::of(static_cast<uint64_t>(std::strtoull(text.c_str(), nullptr, 10)));
  if (kind == "double") return Value::of(std::strtod(text.c_str(), nullptr));
  if (kind == "string") return in.text(text);
  if (kind == "bytes") return in.text(decode_base64(text).value(), Kind::kBytes);
  if (kind == "type") return in.text(text, Kind::kType);
  if (kind == "timestamp") return Value::timestamp(time_of(content));
  if (kind == "duration") return Value::duration(time_of(content));
  if (kind == "list") {
    std::vector<Value> items;
    for (const Json& item : *content.array()) items.push_back(typed(item, in));
    return in.list(items);
  }
  if (kind == "map") {
    const auto& entries = *content.array();
    auto* kept = in.arena.array<EntryMap::Entry>(std::max<size_t>(entries.size(), 1));
    for (size_t i = 0; i < entries.size(); ++i)
      kept[i] = {typed((*entries[i].array())[0], in), typed((*entries[i].array())[1], in)};
    return Value::of(static_cast<const Map*>(EntryMap::make(kept, entries.size(), in.arena)));
  }
  throw std::runtime_error("a value of unknown kind " + kind);
}

// Of one kind and equal, but NaN is NaN and an error is only an error.
bool same(const Value& a, const Value& b, Arena& arena) {
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::kDouble) return a.d == b.d || (std::isnan(a.d) && std::isnan(b.d));
  if (a.kind == Kind::kList) {
    if (a.list->size != b.list->size) return false;
    for (size_t i = 0; i < a.list->size; ++i)
      if (!same(a.list->items[i], b.list->items[i], arena)) return false;
    return true;
  }
  if (a.kind == Kind::kMap) {
    if (a.map->size() != b.map->size()) return false;
    for (size_t i = 0; i < a.map->size(); ++i) {
      const auto [key, value] = a.map->at(i, arena);
      const auto other = b.map->get(key, arena);
      if (!other || !same(value, *other, arena)) return false;
    }
    return true;
  }
  return equal(a, b, arena).value_or(false);
}

std::string shown(const Value& value, Arena& arena) {
  switch (value.kind) {
    case Kind::kBool:
      return value.b ? "true" : "false";
    case Kind::kInt:
      return std::to_string(value.i);
    case Kind::kUint:
      return std::to_string(value.u) + "u";
    case Kind::kDouble:
      return std::to_string(value.d);
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
      return std::string(value.text());
    case Kind::kTimestamp:
    case Kind::kDuration:
      return time_text(value);
    case Kind::kList: {
      std::string out;
      for (const Value& item : *value.list) out += (out.empty() ? "" : ", ") + shown(item, arena);
      return "[" + out + "]";
    }
    case Kind::kMap: {
      std::string out;
      for (size_t i = 0; i < value.map->size(); ++i) {
        const auto [key, item] = value.map->at(i, arena);
        out += (out.empty() ? "" : ", ") + shown(key, arena) + ": " + shown(item, arena);
      }
      return "{" + out + "}";
    }
    default:
      return "?";
  }
}

std::string shown(const Value& value, const Evaluator& evaluator, const Program& program) {
  if (value.is_error()) return "error: " + evaluator.error_text(program);
  Arena room(size_t{1} << 20);
  return shown(value, room);
}

// "" when the case passes.
std::string run_language(const Json& one) {
  Environment environment{.is_homogeneous = false, .has_device = false, .requires_bool = false};
  environment.container = one.text("container");
  environment.macros = one.find("no_macros") == nullptr;
  environment.check = one.find("unchecked") == nullptr;
  Evaluation values;
  Activation activation;
  std::map<std::string, std::string> types;
  if (const Json* declared = one.find("type_env"))
    for (const auto& [name, type] : *declared->object()) types[name] = *type.string();
  if (const Json* bindings = one.find("bindings"))
    for (const auto& [name, value] : *bindings->object()) types.try_emplace(name, "dyn");
  for (const auto& [name, type] : types) {
    environment.variables.push_back({name, type});
    const Json* value = one.find({"bindings", name});
    activation.variables.push_back(value == nullptr ? std::nullopt : std::optional(typed(*value, values)));
  }
  const Json& expect = *one.find("expect");
  const bool wants_error = expect.find("error") != nullptr;
  auto program = Program::compile(std::string(one.text("expr")), environment);
  if (!program) return wants_error ? "" : "refused: " + program.error().what;
  Evaluator evaluator;
  const Value value = evaluator.evaluate(*program, activation);
  if (wants_error)
    return value.is_error() ? "" : "gives " + shown(value, evaluator, *program) + ", wants an error";
  const Value wanted = typed(*expect.find("value"), values);
  if (same(wanted, value, values.arena)) return "";
  return "gives " + std::string(name_of(value.kind)) + " " + shown(value, evaluator, *program) + ", wants " +
         kube::encode_json(*expect.find("value"));
}

// A map has no order: all() and exists() over one may end sooner or later.
bool goes_over_map(std::string_view expression) {
  for (const std::string_view part : {"{", "].all(", "].exists("})
    if (expression.find(part) != std::string_view::npos) return true;
  return false;
}

std::string run_selector(const Json& one) {
  const Json& device = *one.find("device");
  // A slice's device, by the decoder of slices.
  Json slice;
  Json entry = device;
  auto& members = *entry.object();
  std::erase_if(members, [](const auto& member) { return member.first == "driver"; });
  entry.set("name", "d");
  slice.set("apiVersion", "resource.k8s.io/v1");
  slice.set("kind", "ResourceSlice");
  // A slice of ours holds no capacity beyond 64 bits; here the largest stands for them.
  if (const Json* capacity = entry.find("capacity")) {
    Json kept = *capacity;
    for (auto& [name, item] : *kept.object())
      if (!kube::Quantity::decode(item.text("value"))) item.set("value", "9223372036854775807");
    entry.set("capacity", kept);
  }
  Json metadata, spec, pool;
  metadata.set("name", "s");
  slice.set("metadata", metadata);
  pool.set("name", "p");
  pool.set("generation", 1);
  pool.set("resourceSliceCount", 1);
  spec.set("driver", device.text("driver"));
  spec.set("pool", pool);
  spec.set("nodeName", "n");
  spec.set("devices", Json::Array{entry});
  slice.set("spec", spec);
  const auto decoded = kube::decode_resource_slice(slice);
  if (!decoded) return "the device cannot be read: " + decoded.error().what;
  const PublishedDevice published(device.text("driver"), *decoded->devices.at(0));
  const Json& expect = *one.find("expect");
  const std::string_view error = expect.text("error");
  auto program = Program::compile(std::string(one.text("expression")), selector_environment());
  if (!program) return error == "compile" ? "" : "refused: " + program.error().what;
  if (error == "compile") return "is compiled, wants: " + std::string(expect.text("message"));
  Evaluator evaluator;
  const Answer::Is is = evaluator.select(*program, published);
  if (is == Answer::Is::kError)
    return error == "runtime" ? "" : "gives an error: " + evaluator.error_text(*program);
  if (error == "runtime") return "gives a value, wants the error " + std::string(expect.text("message"));
  const bool match = is == Answer::Is::kTrue;
  if (const Json* cost = expect.find("actual_cost"); cost != nullptr && cost->integer() != nullptr) {
    const auto theirs = *cost->integer(), ours = static_cast<int64_t>(evaluator.cost());
    const bool has_order = !goes_over_map(one.text("expression"));
    const bool is_near = ours <= 2 * theirs + 100 && (theirs <= 1000 || ours >= theirs / 2);
    if (has_order ? ours != theirs : !is_near)
      return "costs " + std::to_string(ours) + ", upstream's " + std::to_string(theirs);
  }
  const Json* wanted = expect.find("match");
  if (wanted == nullptr || wanted->boolean() == nullptr) return "the case expects nothing";
  return match == *wanted->boolean() ? "" : match ? "matches" : "does not match";
}

bool needs(const Json& one, std::string_view feature) {
  const Json* needed = one.find("needs");
  return needed != nullptr && needed->array() != nullptr &&
         std::any_of(needed->array()->begin(), needed->array()->end(),
                     [&](const Json& name) { return name.string() != nullptr && *name.string() == feature; });
}

struct Tally {
  size_t total = 0, passed = 0, out_of_scope = 0;
  bool is_good = true;                     // files and lines are readable
  std::map<std::string, size_t> sections;  // what of them is out of scope
};

void run_case(const Json& one, Tally& tally) {
  ++tally.total;
  const bool is_selector = one.find("device") != nullptr;
  std::string why;
  try {
    why = is_selector ? run_selector(one) : run_language(one);
  } catch (const std::exception& error) {
    why = error.what();
  }
  const std::string_view kubernetes = one.text("k8s");
  if (why.empty()) {
    ++tally.passed;
  } else if (kubernetes == "rejects" || kubernetes == "differs" || needs(one, "tzdata")) {
    ++tally.out_of_scope;
    ++tally.sections[std::string(one.text("file")) + "/" + std::string(one.text("section"))];
  } else {
    std::cout << one.text("id") << ": " << one.text(is_selector ? "expression" : "expr") << "\n    " << why
              << "\n";
  }
}

void run_file(const std::string& path, Tally& tally) {
  std::ifstream file(path);
  if (!file) {
    std::cout << path << ": cannot be read\n";
    tally.is_good = false;
  }
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    const auto one = kube::decode_json(line);
    if (one && one->object() != nullptr) {
      run_case(*one, tally);
      continue;
    }
    std::cout << path << ": no case: " << line.substr(0, 80) << "\n";
    tally.is_good = false;
  }
}

void run_path(const std::string& path, Tally& tally) {
  if (!std::filesystem::is_directory(path)) return run_file(path, tally);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) run_file(file, tally);
}

// Whether the file names just the sections, and how many of their cases, that are out of scope.
bool is_scope(const std::string& path, const std::map<std::string, size_t>& sections) {
  std::ifstream file(path);
  std::map<std::string, size_t> wanted;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string section;
    size_t count = 0;
    if (words >> section >> count) wanted[section] = count;
  }
  for (const auto& [section, count] : sections)
    if (const auto at = wanted.find(section); at == wanted.end() || at->second != count)
      std::cout << section << ": " << count << " out of scope, which " << path << " does not say\n";
  for (const auto& [section, count] : wanted)
    if (!sections.contains(section)) std::cout << section << ": nothing is out of scope there\n";
  return wanted == sections;
}

}  // namespace

int main(int argc, char** argv) {
  Tally tally;
  size_t wanted = 0;
  std::string scope;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--passed" && i + 1 < argc)
      wanted = std::strtoull(argv[++i], nullptr, 10);
    else if (option == "--scope" && i + 1 < argc)
      scope = argv[++i];
    else
      run_path(argv[i], tally);
  }
  bool is_good = argc > 1 && tally.is_good && tally.passed + tally.out_of_scope == tally.total;
  if (!scope.empty()) is_good &= is_scope(scope, tally.sections);
  if (tally.passed < wanted) {
    std::cout << "wants " << wanted << " passed cases: are files missing?\n";
    is_good = false;
  }
  std::cout << tally.passed << "/" << tally.total << " (out of scope " << tally.out_of_scope << ")\n";
  return is_good ? 0 : 1;
}
