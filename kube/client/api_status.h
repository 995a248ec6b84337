#pragma once
// Decodes failures of the API server: meta/v1 Status in a response's body or in an ERROR event of a watch.
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "kube/objects/cluster.h"

namespace sliced::kube {

/// Returns the failure of a response with an error status. `action` is "list resourceslices.resource.k8s.io".
/// The body is decoded as a Status, or else quoted (shortened).
Failure decode_refusal(std::string_view action, const http::Head& head, std::string_view body);
/// Returns the failure of an ERROR event. 410 is kGone for every reason. Text that is not a Status is quoted.
Failure decode_error_event(std::string_view action, std::string_view object);
/// Returns the failure of a request without an answer: kTimeout, kTooLarge, kBusy, or else kIo.
Failure no_response(std::string_view action, const Error& error);

/// Returns the code of an HTTP status (see Failure); kBusy for 429 and 5xx.
Errc errc_of_status(int http_status);

}  // namespace sliced::kube
