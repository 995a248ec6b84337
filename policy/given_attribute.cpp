#include "policy/given_attribute.h"

namespace sliced::policy {

std::string full_key(const std::string& key, const std::string& driver) {
  return key.find('/') == std::string::npos ? driver + "/" + key : key;
}

Result<kube::AttributeValue> decode_given_attribute(const std::string& key, const kube::Json& value,
                                                    bool reserved) {
  if (!kube::is_qualified_name(key))
    return Error{Errc::kInvalid, "is not an attribute name; expected DOMAIN/IDENTIFIER or IDENTIFIER"};
  if (reserved)
    return Error{Errc::kInvalid, "is published by the daemon itself and cannot be set; choose another name"};
  auto decoded = kube::decode_attribute(value);
  if (!decoded) return decoded;
  const auto problems = kube::validate_device({.name = "x", .attributes = {{key, *decoded}}});
  if (!problems.empty()) return Error{Errc::kInvalid, problems.front().what};
  return decoded;
}

}  // namespace sliced::policy
