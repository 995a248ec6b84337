#include "policy/field_reader.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::policy {

using kube::Json;

FieldReader::FieldReader(const Json* value, std::string path, Problems& problems)
    : path_(std::move(path)), problems_(problems) {
  if (value == nullptr || value->is_null()) return;
  if (value->object() != nullptr)
    map_ = value;
  else
    problems_.push_back(
        {path_, "is a " + std::string(value->kind_name()) + ", expected a map", value->line()});
}

std::string FieldReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void FieldReader::problem(std::string_view key, std::string what, int line) {
  if (line == 0)
    if (const Json* at = member(key)) line = at->line();
  problems_.push_back({path_of(key), std::move(what), line});
}

void FieldReader::adopt(std::string_view key, const kube::FieldProblems& found) {
  for (const auto& problem : found)
    problems_.push_back(
        {path_of(key) + (problem.field.empty() ? "" : ".") + problem.field, problem.what, problem.line});
  problems_.count_more(found);
}

Problem FieldReader::unknown(std::string_view key, std::span<const std::string_view> known, int line) const {
  const std::string near = nearest(key, std::vector<std::string_view>(known.begin(), known.end()));
  return {path_of(escaped(key, 64)),
          "unknown field; " +
              (near.empty() ? "known are " + join(std::vector<std::string>(known.begin(), known.end()), ", ")
                            : "did you mean " + near + "?"),
          line};
}

void FieldReader::only(std::span<const std::string_view> known) {
  if (map_ == nullptr) return;
  for (const auto& [key, value] : *map_->object()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    problems_.add([&] { return unknown(key, known, value.line()); });
  }
}

const Json* FieldReader::member(std::string_view key) const {
  if (map_ == nullptr) return nullptr;
  const Json* value = map_->find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string FieldReader::text(std::string_view key) {
  const Json* value = member(key);
  if (value == nullptr) return {};
  if (value->string() != nullptr) return *value->string();
  problem(key, "is a " + std::string(value->kind_name()) + ", expected a string");
  return {};
}

int64_t FieldReader::integer(std::string_view key, int64_t min, int64_t max, int64_t otherwise) {
  const Json* value = member(key);
  if (value == nullptr) return otherwise;
  if (value->integer() == nullptr) {
    problem(key, "is a " + std::string(value->kind_name()) + ", expected a whole number");
    return otherwise;
  }
  if (*value->integer() < min || *value->integer() > max) {
    problem(key, "is " + std::to_string(*value->integer()) + ", expected " + std::to_string(min) + " to " +
                     std::to_string(max));
    return otherwise;
  }
  return *value->integer();
}

bool FieldReader::boolean(std::string_view key, bool otherwise) {
  const Json* value = member(key);
  if (value == nullptr) return otherwise;
  if (value->boolean() != nullptr) return *value->boolean();
  problem(key, "is a " + std::string(value->kind_name()) + ", expected true or false");
  return otherwise;
}

std::vector<const Json*> FieldReader::items(std::string_view key, size_t count_max) {
  std::vector<const Json*> out;
  const Json* value = member(key);
  if (value == nullptr) return out;
  if (value->array() == nullptr) {
    problem(key, "is a " + std::string(value->kind_name()) + ", expected a list");
    return out;
  }
  if (value->array()->size() > count_max) {
    problem(key, "has " + std::to_string(value->array()->size()) + " entries, at most " +
                     std::to_string(count_max) + " are read; split the policy");
    return out;
  }
  for (const Json& item : *value->array()) out.push_back(&item);
  return out;
}

std::vector<const Json::Member*> FieldReader::entries(std::string_view key, size_t count_max) {
  std::vector<const Json::Member*> out;
  const Json* value = member(key);
  if (value == nullptr) return out;
  if (value->object() == nullptr) {
    problem(key, "is a " + std::string(value->kind_name()) + ", expected a map");
    return out;
  }
  if (value->object()->size() > count_max) {
    problem(key, "has " + std::to_string(value->object()->size()) + " entries, at most " +
                     std::to_string(count_max) + " are read");
    return out;
  }
  for (const Json::Member& entry : *value->object()) out.push_back(&entry);
  return out;
}

kube::NodeSelector FieldReader::node_selector(std::string_view key) {
  const Json* value = member(key);
  if (value == nullptr) return {};
  kube::FieldProblems found;
  kube::NodeSelector selector = kube::decode_node_selector(*value, found);
  adopt(key, found);
  return selector;
}

std::vector<FieldReader::Entry> FieldReader::texts(std::string_view key, size_t count_max, size_t bytes_max) {
  std::vector<Entry> out;
  size_t index = 0;
  for (const Json* item : items(key, count_max)) {
    const std::string at = std::string(key) + "[" + std::to_string(index++) + "]";
    if (item->string() == nullptr)
      problem(at, "is a " + std::string(item->kind_name()) + ", expected a string (put it in quotes)",
              item->line());
    else if (item->string()->empty() || item->string()->size() > bytes_max)
      problem(
          at,
          "is " + in_quotes(*item->string(), 64) + ", expected 1 to " + std::to_string(bytes_max) + " bytes",
          item->line());
    else
      out.push_back({*item->string(), item->line()});
  }
  return out;
}

}  // namespace sliced::policy
