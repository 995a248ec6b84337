package cluster

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sliced.test/cluster/harness"
)

// Turns red when a client of the tests fails because the API server gave up after its own time limit, whether the server had carried the
// request out or not; or when the client hides a refusal that came without that limit.
func TestAsksAgainAfterTheTimeLimitOfTheAPIServer(t *testing.T) {
	for _, test := range []struct {
		name, method, path string
		answers            []string // "METHOD PATH STATUS", in order
		want               int
	}{
		{"a read", "GET", "/a", []string{"GET /a 504", "GET /a 504", "GET /a 200"}, 200},
		{"a create that was not carried out", "POST", "/a", []string{"POST /a 504", "POST /a 201"}, 201},
		{"a create that was carried out", "POST", "/a", []string{"POST /a 504", "POST /a 409", "GET /a/n 504", "GET /a/n 200"}, 200},
		{"a create of what is there", "POST", "/a", []string{"POST /a 409"}, 409},
		{"an update that was carried out", "PUT", "/a/n", []string{"PUT /a/n 504", "PUT /a/n 409", "GET /a/n 200"}, 200},
		{"a deletion that was carried out", "DELETE", "/a/n", []string{"DELETE /a/n 504", "DELETE /a/n 404"}, 200},
		{"a deletion of nothing", "DELETE", "/a/n", []string{"DELETE /a/n 404"}, 404},
		{"a refusal", "PUT", "/a/n", []string{"PUT /a/n 504", "PUT /a/n 422"}, 422},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if hasBody := len(body) > 0; hasBody != (r.Method == "POST" || r.Method == "PUT") {
					t.Errorf("%s with the body %q", r.Method, body)
				}
				if asked >= len(test.answers) {
					t.Errorf("asked more often than expected: %s %s", r.Method, r.URL)
					return
				}
				var method, path string
				var status int
				fmt.Sscan(test.answers[asked], &method, &path, &status)
				asked++
				if r.Method != method || r.URL.Path != path {
					t.Errorf("asked for %s %s, not for %s %s", r.Method, r.URL.Path, method, path)
				}
				w.WriteHeader(status)
			}))
			defer server.Close()
			body := ""
			if test.method == "POST" || test.method == "PUT" {
				body = `{"metadata": {"name": "n"}}`
			}
			request, err := http.NewRequest(test.method, server.URL+test.path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := (&http.Client{Transport: harness.AskAgain(http.DefaultTransport)}).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != test.want || asked != len(test.answers) {
				t.Errorf("the answer is %d after %d questions, not %d after %d", answer.StatusCode, asked, test.want, len(test.answers))
			}
		})
	}
}
