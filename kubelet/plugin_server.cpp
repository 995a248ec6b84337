#include "kubelet/plugin_server.h"

#include <memory>
#include <utility>

#include "kubelet/messages.h"

namespace sliced::kubelet {
namespace {

// Collects the answers of one call's claims. If the Preparer drops a claim's callback, the client gets an
// error (grpc::Answer).
template <class Result>
struct Gathered {
  Gathered(grpc::Answer answer_in, size_t claims)
      : answer(std::move(answer_in)), results(claims), missing(claims) {}
  grpc::Answer answer;
  std::vector<std::pair<std::string, Result>> results;  // by UID, in the order of the call
  size_t missing;
};

// Calls ask(called claim, done) for each; calls encode(results) when all are done.
template <class Result, class Ask, class Encode>
void for_each_claim(std::string_view message, grpc::Answer answer, const Ask& ask, Encode encode) {
  auto claims = decode_claims(message);
  if (!claims) return answer.finish(grpc::status_of(claims.error()));
  const auto gathered = std::make_shared<Gathered<Result>>(std::move(answer), claims->size());
  if (claims->empty()) return gathered->answer.send(encode(gathered->results));
  for (size_t i = 0; i < claims->size(); ++i) {
    gathered->results[i].first = (*claims)[i].claim.uid;
    ask(std::move((*claims)[i]), [gathered, i, encode](Result result) {
      gathered->results[i].second = std::move(result);
      if (--gathered->missing == 0) gathered->answer.send(encode(gathered->results));
    });
  }
}

grpc::Handler prepare_handler(const std::string& driver, Preparer& preparer, DraVersion version) {
  return [driver, &preparer, version](std::string_view message, grpc::Answer answer) {
    for_each_claim<PrepareAnswer>(
        message, std::move(answer),
        [&](CalledClaim called, std::function<void(PrepareAnswer)> done) {
          if (!called.error.empty()) return done({.devices = {}, .error = std::move(called.error)});
          preparer.prepare(driver, std::move(called.claim), std::move(done));
        },
        [version](const auto& results) { return encode_prepared(results, version); });
  };
}

grpc::Handler unprepare_handler(const std::string& driver, Preparer& preparer) {
  return [driver, &preparer](std::string_view message, grpc::Answer answer) {
    for_each_claim<std::string>(
        message, std::move(answer),
        [&](CalledClaim called, std::function<void(std::string)> done) {
          if (!called.error.empty()) return done(std::move(called.error));
          preparer.unprepare(driver, std::move(called.claim), std::move(done));
        },
        [](const auto& results) { return encode_unprepared(results); });
  };
}

}  // namespace

grpc::Methods plugin_methods(const std::string& driver, Preparer& preparer, HealthStreams& health) {
  grpc::Methods methods;
  for (const auto& [package, version] :
       {std::pair{"v1", DraVersion::kV1}, std::pair{"v1beta1", DraVersion::kV1Beta1}}) {
    const std::string service = "/k8s.io.kubelet.pkg.apis.dra." + std::string(package) + ".DRAPlugin/";
    methods[service + "NodePrepareResources"] = {.handle = prepare_handler(driver, preparer, version),
                                                 .longest = kClaimsAnswerMax};
    methods[service + "NodeUnprepareResources"] = {.handle = unprepare_handler(driver, preparer),
                                                   .longest = kClaimsAnswerMax};
  }
  for (const char* package : {"v1", "v1alpha1"})
    methods["/" + std::string(package) + ".DRAResourceHealth/NodeWatchResources"] = {
        .handle = [&health](std::string_view, grpc::Answer answer) { health.add(std::move(answer)); },
        .is_stream = true};
  return methods;
}

}  // namespace sliced::kubelet
