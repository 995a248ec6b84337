#include "kube/objects/api_time.h"

#include <chrono>

#include "reactor/base/text.h"

namespace sliced::kube {

std::optional<int64_t> decode_api_time(std::string_view text) {
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't') ||
      text[13] != ':' || text[16] != ':')
    return std::nullopt;
  const auto number = [&](size_t at, size_t length) {
    return parse_int(text.substr(at, length)).value_or(-1);
  };
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(number(0, 4))),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const int64_t hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (!date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
    return std::nullopt;
  std::string_view zone = text.substr(19);
  if (zone[0] == '.') zone.remove_prefix(std::min(zone.find_first_not_of("0123456789", 1), zone.size()));
  int64_t offset = 0;
  if (zone.size() == 6 && (zone[0] == '+' || zone[0] == '-') && zone[3] == ':') {
    const auto hours = parse_int(zone.substr(1, 2)), minutes = parse_int(zone.substr(4, 2));
    if (!hours || !minutes || *hours < 0 || *hours > 23 || *minutes < 0 || *minutes > 59) return std::nullopt;
    offset = (*hours * 60 + *minutes) * (zone[0] == '+' ? 60 : -60);
  } else if (zone != "Z" && zone != "z") {
    return std::nullopt;
  }
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + hour) * 60 + minute) * 60 + second - offset;
}

std::string encode_api_time(int64_t seconds) {
  const auto days = std::chrono::floor<std::chrono::days>(std::chrono::seconds{seconds});
  const std::chrono::year_month_day date{std::chrono::sys_days{days}};
  const int64_t second = seconds - std::chrono::seconds{days}.count();
  const auto two = [](int64_t number) { return std::to_string(number + 100).substr(1); };
  return std::to_string(static_cast<int>(date.year())) + "-" + two(static_cast<unsigned>(date.month())) +
         "-" + two(static_cast<unsigned>(date.day())) + "T" + two(second / 3'600) + ":" +
         two(second / 60 % 60) + ":" + two(second % 60) + "Z";
}

}  // namespace sliced::kube
