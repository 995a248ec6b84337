#include "kubelet/registration.h"

#include <utility>

namespace sliced::kubelet {
namespace {

constexpr Millis kAnswerMax{5'000};  // both methods answer immediately

}  // namespace

std::vector<std::string> supported_versions() {
  return {"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"};
}

grpc::Methods registration_methods(const std::string& driver, const std::string& endpoint,
                                   std::function<void(const RegistrationStatus&)> on_status) {
  const std::string info = encode_plugin_info(
      {.type = "DRAPlugin", .name = driver, .endpoint = endpoint, .versions = supported_versions()});
  const auto get_info = [info](std::string_view, grpc::Answer answer) { answer.send(info); };
  const auto notify = [on_status = std::move(on_status)](std::string_view message, grpc::Answer answer) {
    const auto status = decode_registration_status(message);
    if (!status) return answer.finish(grpc::status_of(status.error()));
    answer.send("");
    on_status(*status);
  };
  return {{"/pluginregistration.Registration/GetInfo", {.handle = get_info, .longest = kAnswerMax}},
          {"/pluginregistration.Registration/NotifyRegistrationStatus",
           {.handle = notify, .longest = kAnswerMax}}};
}

}  // namespace sliced::kubelet
