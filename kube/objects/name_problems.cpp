#include "kube/objects/name_problems.h"

#include "kube/objects/names.h"
#include "reactor/base/text.h"

namespace sliced::kube {

std::string problem_of_name(std::string_view name) {
  if (is_dns_subdomain(name)) return "";
  return "is " + in_quotes(name, 64) +
         ", expected at most 253 small letters, digits, '-' and '.', with a letter or digit at both ends of each part; the API server "
         "refuses any other";
}

std::string problem_of_namespace(std::string_view name) {
  if (is_dns_label(name)) return "";
  return "is " + in_quotes(name, 64) +
         ", expected at most 63 small letters, digits and '-', with a letter or digit at both ends; the API server refuses any other";
}

}  // namespace sliced::kube
