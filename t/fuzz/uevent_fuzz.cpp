// Kernel uevents.
#include "hotplug/uevent_decode.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::uevent_target {

FUZZ_TARGET(uevent) {
  fuzz::Input input(data, size);
  const std::string bytes(input.rest);
  const auto event = hotplug::decode_uevent(bytes);
  if (!event) return fuzz::check(event.error()), 0;
  fuzz::must(!event->action.empty() && event->devpath.starts_with('/'), "an event says what and where");
  fuzz::must(event->properties.size() <= hotplug::kUeventPropertiesMax, "properties are bounded");
  return 0;
}

}  // namespace sliced::fuzz::uevent_target
