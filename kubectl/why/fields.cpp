#include "kubectl/why/fields.h"

#include "reactor/base/text.h"

namespace sliced::why {

void Fields::wrong(std::string what) const {
  if (error_.what.empty()) error_ = {Errc::kInvalid, path_ + ": " + std::move(what)};
}

Fields Fields::operator[](std::string_view key) const {
  const kube::Json* member = nullptr;
  if (value_ != nullptr) {
    if (value_->object() == nullptr) wrong("must be a map, not a " + std::string(value_->kind_name()));
    member = value_->find(key);
  }
  return {member, path_.empty() ? std::string(key) : path_ + "." + std::string(key), error_};
}

std::string Fields::text() const {
  if (value_ == nullptr) return "";
  if (const auto* text = value_->string()) return *text;
  wrong("must be a string, not a " + std::string(value_->kind_name()));
  return "";
}

bool Fields::flag() const {
  if (value_ == nullptr) return false;
  if (const auto* flag = value_->boolean()) return *flag;
  wrong("must be true or false");
  return false;
}

int64_t Fields::integer(int64_t when_absent) const {
  if (value_ == nullptr) return when_absent;
  if (const auto* number = value_->integer()) return *number;
  wrong("must be a whole number, not a " + std::string(value_->kind_name()));
  return when_absent;
}

std::vector<std::string> Fields::texts() const {
  std::vector<std::string> out;
  each([&](const Fields& item) { out.push_back(item.text()); });
  return out;
}

void Fields::each(const std::function<void(const Fields&)>& visit) const {
  if (value_ == nullptr) return;
  if (value_->array() == nullptr) return wrong("must be a list, not a " + std::string(value_->kind_name()));
  size_t index = 0;
  for (const kube::Json& item : *value_->array())
    visit(Fields(&item, path_ + "[" + std::to_string(index++) + "]", error_));
}

void Fields::each_member(const std::function<void(const std::string&, const Fields&)>& visit) const {
  if (value_ == nullptr) return;
  if (value_->object() == nullptr) return wrong("must be a map, not a " + std::string(value_->kind_name()));
  for (const auto& [key, member] : *value_->object())
    visit(key, Fields(&member, path_ + "[" + escaped(key) + "]", error_));
}

}  // namespace sliced::why
