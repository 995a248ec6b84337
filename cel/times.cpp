// Timestamps and durations.
#include "cel/lib/timestamp.h"
#include "cel/library.h"

namespace sliced::cel {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
// Steps of reading and of writing a time, of taking it apart.
constexpr uint64_t kReadTimeSteps = 8, kWriteTimeSteps = 24, kPartSteps = 4;

Timestamp timestamp_in(const Value& value) {
  return {value.time.seconds, value.time.nanos, value.time.zone_minutes};
}
Duration duration_in(const Value& value) { return {value.time.seconds * kSecond + value.time.nanos}; }

Value of(const Timestamp& time) { return Value::timestamp({time.seconds, time.nanos, time.zone_minutes}); }
Value of(const Duration& span) {
  return Value::duration({span.nanos / kSecond, static_cast<int32_t>(span.nanos % kSecond), 0});
}
template <class T>
Value answer(Evaluation& in, const Result<T>& result) {
  return result ? of(*result) : in.invalid(result.error().what);
}

Value unchanged(Evaluation&, const Value* args) { return args[0]; }
Value timestamp_of_text(Evaluation& in, const Value* args) {
  if (!in.step(kReadTimeSteps + args[0].s.size / 4)) return in.fail(Failure::kSteps);
  return answer(in, decode_timestamp(args[0].text()));
}
Value timestamp_of_int(Evaluation& in, const Value* args) { return answer(in, timestamp_of(args[0].i)); }
Value duration_of_text(Evaluation& in, const Value* args) {
  if (!in.step(kReadTimeSteps + args[0].s.size / 2)) return in.fail(Failure::kSteps);
  return answer(in, decode_duration(args[0].text()));
}
Value text_of_time(Evaluation& in, const Value* args) {
  in.step(kWriteTimeSteps);
  return in.text(time_text(args[0]));
}

Value add_to_timestamp(Evaluation& in, const Value* args) {
  return answer(in, add(timestamp_in(args[0]), duration_in(args[1])));
}
Value add_timestamp(Evaluation& in, const Value* args) {
  return answer(in, add(timestamp_in(args[1]), duration_in(args[0])));
}
Value add_durations(Evaluation& in, const Value* args) {
  return answer(in, add(duration_in(args[0]), duration_in(args[1])));
}
Value subtract_from_timestamp(Evaluation& in, const Value* args) {
  return answer(in, subtract(timestamp_in(args[0]), duration_in(args[1])));
}
Value between_timestamps(Evaluation& in, const Value* args) {
  return answer(in, subtract(timestamp_in(args[0]), timestamp_in(args[1])));
}
Value subtract_durations(Evaluation& in, const Value* args) {
  return answer(in, subtract(duration_in(args[0]), duration_in(args[1])));
}
Value sum_of_durations(Evaluation& in, const Value* args) {
  Duration total;
  if (!in.step(args[0].list->size)) return in.fail(Failure::kSteps);
  for (const Value& item : *args[0].list) {
    if (item.kind != Kind::kDuration) return in.no_overload("sum");
    const auto more = add(total, duration_in(item));
    if (!more) return in.invalid(more.error().what);
    total = *more;
  }
  return of(total);
}

template <TimePart Part>
Value part_of(Evaluation& in, const Value* args) {
  in.step(kPartSteps);
  return Value::of(time_part(timestamp_in(args[0]), Part));
}
template <TimePart Part>
Value part_in_zone(Evaluation& in, const Value* args) {
  if (!in.step(kPartSteps + kReadTimeSteps + args[1].s.size / 4)) return in.fail(Failure::kSteps);
  const auto zone = decode_zone(args[1].text());
  if (!zone) return in.invalid(zone.error().what);
  return Value::of(time_part(timestamp_in(args[0]), Part, *zone));
}
template <int64_t (*Whole)(const Duration&)>
Value whole(Evaluation&, const Value* args) {
  return Value::of(Whole(duration_in(args[0])));
}

#define PART(name, part)                                            \
  {"timestamp." name "(): int", part_of<TimePart::part>}, {         \
    "timestamp." name "(string): int", part_in_zone<TimePart::part> \
  }

constexpr Declaration kTimes[] = {
    {"timestamp(timestamp): timestamp", unchanged},
    {"timestamp(string): timestamp", timestamp_of_text},
    {"timestamp(int): timestamp", timestamp_of_int},
    {"duration(duration): duration", unchanged},
    {"duration(string): duration", duration_of_text},
    {"string(timestamp): string", text_of_time},
    {"string(duration): string", text_of_time},
    {"_+_(timestamp, duration): timestamp", add_to_timestamp},
    {"_+_(duration, timestamp): timestamp", add_timestamp},
    {"_+_(duration, duration): duration", add_durations},
    {"_-_(timestamp, duration): timestamp", subtract_from_timestamp},
    {"_-_(timestamp, timestamp): duration", between_timestamps},
    {"_-_(duration, duration): duration", subtract_durations},
    {"list(duration).sum(): duration", sum_of_durations},
    PART("getFullYear", kFullYear),
    PART("getMonth", kMonth),
    PART("getDayOfYear", kDayOfYear),
    PART("getDayOfMonth", kDayOfMonth),
    PART("getDate", kDate),
    PART("getDayOfWeek", kDayOfWeek),
    PART("getHours", kHours),
    PART("getMinutes", kMinutes),
    PART("getSeconds", kSeconds),
    PART("getMilliseconds", kMilliseconds),
    {"duration.getHours(): int", whole<whole_hours>},
    {"duration.getMinutes(): int", whole<whole_minutes>},
    {"duration.getSeconds(): int", whole<whole_seconds>},
    {"duration.getMilliseconds(): int", whole<whole_milliseconds>},
};

}  // namespace

std::string time_text(const Value& value) {
  return value.kind == Kind::kTimestamp ? encode_timestamp(timestamp_in(value))
                                        : encode_duration(duration_in(value));
}

std::span<const Declaration> times() { return kTimes; }

}  // namespace sliced::cel
