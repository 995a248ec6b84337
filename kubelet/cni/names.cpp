#include "kubelet/cni/names.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::cni {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool is_cni_name(std::string_view text) {
  return !text.empty() && text.size() <= 128 && is_alphanumeric(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_alphanumeric(c) || std::string_view("_.-").find(c) != std::string_view::npos;
         });
}

bool is_plugin_type(std::string_view text) {
  return !text.empty() && text.size() <= 128 && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c < '\x7f' && c != '/' && c != '\\'; });
}

bool is_interface_name(std::string_view text) {
  return !text.empty() && text.size() <= 15 && text != "." && text != ".." && is_utf8(text) &&
         std::none_of(text.begin(), text.end(),
                      [](char c) { return c == '/' || c == ':' || c == '\x7f' || (c >= '\0' && c <= ' '); });
}

}  // namespace sliced::cni
