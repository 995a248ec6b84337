#include "kubelet/cdi/store.h"

#include "reactor/base/text.h"
#include "reactor/durable_file.h"

namespace sliced::cdi {
namespace {

// The id becomes part of a path.
Result<Unit> check_id(std::string_view id) {
  if (is_device_name(id) && id.size() <= 128) return Unit{};
  return Error{Errc::kInvalid,
               "CDI spec of " + in_quotes(id) + ": expected an id of letters, digits, _ - . :"};
}

}  // namespace

std::string Store::path(std::string_view kind, std::string_view id) const {
  return root_ + "/" + name_(kind, id);
}

Result<Unit> Store::write(const Spec& spec, std::string_view id) const {
  auto file = file_of(spec, id);
  if (!file) return std::move(file.error());
  return reactor::write_durably({*std::move(file)});
}

Result<reactor::DurableFile> Store::file_of(const Spec& spec, std::string_view id) const {
  if (auto checked = check_id(id); !checked) return std::move(checked.error());
  auto text = encode_spec(spec);
  if (!text) return std::move(text.error());
  return reactor::DurableFile{.path = path(spec.kind, id), .text = *std::move(text)};
}

Result<Unit> Store::remove(std::string_view kind, std::string_view id) const {
  if (auto checked = check_id(id); !checked) return checked;
  return reactor::remove_durably(path(kind, id));
}

Result<Spec> Store::read(std::string_view kind, std::string_view id) const {
  if (auto checked = check_id(id); !checked) return std::move(checked.error());
  const auto text = reactor::read_whole(path(kind, id), kSpecBytesMax);
  if (!text) return text.error();
  auto spec = decode_spec(*text);
  if (!spec) return std::move(spec.error()).in(path(kind, id));
  return spec;
}

Result<std::vector<std::string>> Store::ids(std::string_view kind) const {
  // Other drivers have their specs in the same directory.
  auto names = reactor::list_names(root_, kFilesMax,
                                   [&](std::string_view name) { return !id_of(kind, name).empty(); });
  if (!names) return names;
  for (std::string& name : *names) name = id_of(kind, name);
  return names;
}

std::string Store::id_of(std::string_view kind, std::string_view file) const {
  const std::string all = name_(kind, "");
  const size_t dot = all.rfind('.');
  const std::string start = all.substr(0, dot), end = all.substr(dot);
  if (file.size() <= all.size() || !file.starts_with(start) || !file.ends_with(end)) return "";
  std::string id(file.substr(start.size(), file.size() - all.size()));
  return check_id(id) ? id : "";
}

Result<size_t> Store::remove_temporaries(std::string_view kind) const {
  return reactor::remove_temporaries(root_,
                                     [&](std::string_view file) { return !id_of(kind, file).empty(); });
}

}  // namespace sliced::cdi
