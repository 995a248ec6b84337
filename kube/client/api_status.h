#pragma once
// What the API server says when it says no: meta/v1 Status in a response's body or in a watch's ERROR event.
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "kube/objects/cluster.h"

namespace sliced::kube {

/// The failure a response with an error status means. `action` is "list resourceslices.resource.k8s.io". The
/// body is read as a Status where it is one, else quoted (shortened).
Failure decode_refusal(std::string_view action, const http::Head& head, std::string_view body);
/// The failure an ERROR event's object means; the Status carries the code.
/// 410 is kGone whatever the reason. Text that is no Status is quoted as it is, escaped and cut.
Failure decode_error_event(std::string_view action, std::string_view object);
/// A failure without an answer: kTimeout, kTooLarge and kBusy stay, all else is kIo.
Failure no_answer(std::string_view action, const Error& error);

/// What callers branch on for an HTTP status (see Failure).
/// 429 and what begins with 5 are kBusy: with retry_after where the head said so.
Errc errc_of_status(int http_status);

}  // namespace sliced::kube
