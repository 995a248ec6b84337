// What CNI plugins say, and what authors of NetworkAttachmentDefinitions write.
#include "cni/network.h"
#include "cni/record.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::cni_target {

namespace {

void check_network(std::string_view text) {
  const auto network = cni::decode_network(text, "nad");
  if (!network) return fuzz::check(network.error());
  fuzz::must(cni::is_cni_name(network->name) && !network->plugins.empty(),
             "a network has a name and plugins");
  const cni::Attachment attachment{.container_id = "c",
                                   .interface = "net1",
                                   .device = "0000:3b:01.0",
                                   .capabilities = *kube::decode_json(R"({"mac":"02:00:00:00:00:01"})")};
  for (size_t i = 0; i < network->plugins.size(); ++i) {
    fuzz::must(network->plugins[i].type.find('/') == std::string::npos, "a plugin is a bare file name");
    const auto input =
        kube::decode_json(cni::input_for(*network, i, attachment, cni::Attached{.cni_version = "1.0.0"}));
    fuzz::must(input.ok() && input->text("name") == network->name, "what a plugin is told is JSON");
  }
}

void check_result(std::string_view text) {
  const auto result = cni::decode_result(text, "1.0.0");
  if (!result) return fuzz::check(result.error());
  const auto again = cni::decode_result(kube::encode_json(cni::encode_result(*result)), "");
  fuzz::must(again.ok(), "a result that is passed on is one");
  fuzz::must(cni::encode_result(*again) == cni::encode_result(*result), "and says the same");
}

}  // namespace

FUZZ_TARGET(cni) {
  fuzz::Input input(data, size);
  switch (input.byte() % 4) {
    case 0:
      check_network(input.rest);
      break;
    case 1:
      check_result(input.rest);
      break;
    case 2:
      if (const auto said = cni::decode_plugin_error(input.rest)) fuzz::check_text(*said);
      break;
    default: {
      const auto record = cni::decode_record(input.rest);
      if (!record) return fuzz::check(record.error()), 0;
      fuzz::must(cni::record_name(record->attachment).find('/') == std::string::npos,
                 "a record's name is one");
    }
  }
  return 0;
}

}  // namespace sliced::fuzz::cni_target
