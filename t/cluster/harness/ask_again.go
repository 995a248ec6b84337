package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"time"
)

type askingAgain struct{ next http.RoundTripper }

// AskAgain returns a transport that repeats a request when the API server ended it by a time limit of its own (504): this shows only that the
// machine is slow. The API server may have carried the request out. Then the repetition of a create or update is answered with a conflict, for
// which the transport returns the object, and that of a deletion with "not found", for which it returns success.
func AskAgain(next http.RoundTripper) http.RoundTripper { return askingAgain{next} }

func (p askingAgain) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
		request.Body.Close()
	}
	for isRepeated := false; ; isRepeated = true {
		once := request.Clone(request.Context())
		if body != nil {
			once.Body = io.NopCloser(bytes.NewReader(body))
		}
		answer, err := p.next.RoundTrip(once)
		switch {
		case err != nil:
			return nil, err
		case answer.StatusCode == http.StatusGatewayTimeout && time.Now().Before(Limit()) && request.Context().Err() == nil:
			fmt.Fprintf(os.Stderr, "the API server gave up after its own time limit, and is asked again: %s %s\n", request.Method, request.URL.Path)
			answer.Body.Close()
		case isRepeated && answer.StatusCode == http.StatusConflict && (request.Method == http.MethodPost || request.Method == http.MethodPut):
			if object := p.object(request, body); object != nil {
				answer.Body.Close()
				return object, nil
			}
			return answer, nil
		case isRepeated && answer.StatusCode == http.StatusNotFound && request.Method == http.MethodDelete:
			answer.Body.Close()
			return success(request), nil
		default:
			return answer, nil
		}
	}
}

// object is the answer to a question for the object of a create or update; nil if there is none.
func (p askingAgain) object(request *http.Request, body []byte) *http.Response {
	question := request.Clone(request.Context())
	question.Method, question.Body, question.ContentLength = http.MethodGet, nil, 0
	question.URL.RawQuery = ""
	question.Header.Del("Content-Type")
	if request.Method == http.MethodPost {
		var its struct{ Metadata struct{ Name string } }
		if json.Unmarshal(body, &its) != nil || its.Metadata.Name == "" {
			return nil
		}
		question.URL.Path = path.Join(question.URL.Path, its.Metadata.Name)
	}
	answer, err := p.RoundTrip(question)
	if err != nil {
		return nil
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil
	}
	return answer
}

func success(request *http.Request) *http.Response {
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader([]byte(`{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}`)))}
}
