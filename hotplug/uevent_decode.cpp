#include "hotplug/uevent_decode.h"

#include "reactor/base/text.h"

namespace sliced::hotplug {
namespace {

Error invalid(std::string what) { return Error{Errc::kInvalid, "uevent: " + std::move(what)}; }

std::string take_property(const std::map<std::string, std::string>& properties, const char* key,
                          std::string_view otherwise) {
  const auto at = properties.find(key);
  return at == properties.end() ? std::string(otherwise) : at->second;
}

}  // namespace

Result<Uevent> decode_uevent(std::string_view bytes) {
  if (bytes.size() > kUeventSizeMax)
    return Error{Errc::kTooLarge, "uevent: " + std::to_string(bytes.size()) + " bytes, the bound is " +
                                      std::to_string(kUeventSizeMax)};
  const std::string_view header = bytes.substr(0, bytes.find('\0'));
  const size_t at_sign = header.find('@');
  if (at_sign == std::string_view::npos || at_sign == 0)
    return invalid("header " + in_quotes(header, 64) + " has no action@path");

  Uevent event;
  std::string_view rest = bytes.substr(std::min(bytes.size(), header.size() + 1));
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    if (entry.empty()) continue;
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return invalid("property " + in_quotes(entry, 64) + " is not KEY=value");
    if (event.properties.size() == kUeventPropertiesMax)
      return Error{Errc::kTooLarge,
                   "uevent: more than " + std::to_string(kUeventPropertiesMax) + " properties"};
    event.properties.insert_or_assign(std::string(entry.substr(0, equals)),
                                      std::string(entry.substr(equals + 1)));
  }
  event.action = take_property(event.properties, "ACTION", header.substr(0, at_sign));
  event.devpath = take_property(event.properties, "DEVPATH", header.substr(at_sign + 1));
  event.subsystem = take_property(event.properties, "SUBSYSTEM", "");
  if (event.action.empty()) return invalid(in_quotes(header, 128) + " has an empty ACTION");
  if (!event.devpath.starts_with('/'))
    return invalid("path " + in_quotes(event.devpath, 64) + " is not absolute");
  if (event.subsystem.empty()) return invalid(in_quotes(header, 128) + " names no SUBSYSTEM");
  return event;
}

}  // namespace sliced::hotplug
