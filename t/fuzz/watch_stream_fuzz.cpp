// The body of a watch: lines, frames, heads, and slices as they come from others.
#include "kube/client/api_status.h"
#include "kube/client/line_assembler.h"
#include "kube/client/watch_frame.h"
#include "kube/objects/resource_slice.h"
#include "t/fuzz/fuzz.h"
#include "watchers/object_head.h"

namespace sliced::fuzz::watch_stream_target {

namespace {

void look_at(std::string_view line) {
  const auto frame = kube::decode_watch_frame(line);
  if (!frame) return fuzz::check(frame.error());
  if (!frame->type) return fuzz::check_text(kube::decode_error_event("watch things", frame->object).what);
  const auto json = kube::decode_json(frame->object);
  const auto head = watchers::decode_object_head(frame->object);
  if (!head) fuzz::check(head.error());
  if (!json) return fuzz::check(json.error());
  const auto again = kube::decode_json(kube::encode_json(*json));
  fuzz::must(again.ok() && *again == *json, "JSON survives being written");
  const auto slice = kube::decode_resource_slice(*json);
  if (!slice) return fuzz::check(slice.error());
  fuzz::must(!head || head->name == slice->meta.name, "the head names the same object");
  if (!slice->unknown_fields.empty()) return;
  const auto copy = kube::decode_resource_slice(kube::encode_resource_slice(*slice));
  fuzz::must(copy.ok(), "what was decoded can be written and read", copy.ok() ? "" : copy.error().what);
  fuzz::must(copy->devices == slice->devices && copy->shared_counters == slice->shared_counters &&
                 copy->pool == slice->pool,
             "a slice survives being written");
  for (const kube::Device& device : slice->devices)
    for (const auto& problem : kube::validate_device(device)) fuzz::check_text(problem.what);
  for (const std::string& problem : kube::validate_slice(*slice)) fuzz::check_text(problem);
}

std::vector<std::string> lines_of(std::string_view bytes, size_t piece) {
  std::vector<std::string> lines;
  kube::LineAssembler assembler(1 << 16);
  while (!bytes.empty()) {
    const auto fed = assembler.feed(bytes.substr(0, piece), [&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    });
    if (!fed) break;
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return lines;
}

}  // namespace

FUZZ_TARGET(watch_stream) {
  fuzz::Input input(data, size);
  const size_t piece = 1 + input.byte() % 64;
  const auto lines = lines_of(input.rest, input.rest.size() + 1);
  fuzz::must(lines == lines_of(input.rest, piece), "cuts change nothing");
  for (const std::string& line : lines) look_at(line);
  return 0;
}

}  // namespace sliced::fuzz::watch_stream_target
