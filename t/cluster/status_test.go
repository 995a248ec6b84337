package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"sliced.test/cluster/harness"
)

// page is what a daemon answers at its address, and how.
func page(t *testing.T, address, path string) (int, string) {
	t.Helper()
	client := http.Client{Timeout: harness.UntilLimit(), Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// sampleAt is the value of a sample on the page /metrics of that address, named with its labels; -1: it is not told.
func sampleAt(t *testing.T, address, sample string) float64 {
	t.Helper()
	_, text := page(t, address, "/metrics")
	for _, line := range strings.Split(text, "\n") {
		if value, is := strings.CutPrefix(line, sample+" "); is {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			return number
		}
	}
	return -1
}

// askStatus runs `sliced status` beside the daemon of that runtime directory.
func askStatus(t *testing.T, directory string, more ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(harness.Program(t), append([]string{"status", "--runtime-directory", directory}, more...)...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// readyWithin polls /readyz until it has that answer, and returns the body.
func readyWithin(t *testing.T, address string, wanted int, within time.Duration) string {
	t.Helper()
	for deadline := harness.Limit(); ; time.Sleep(50 * time.Millisecond) {
		code, body := page(t, address, "/readyz")
		if code == wanted {
			return body
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited until the limit of the test program for /readyz to answer with %d; it answers with %d %s", wanted, code, body)
		}
	}
}

// sameJSON says whether two texts are the same value, a List of devices that is not empty.
func sameJSON(a, b string) (bool, error) {
	var of [2]struct{ Items []any }
	for i, text := range []string{a, b} {
		if err := json.Unmarshal([]byte(text), &of[i]); err != nil {
			return false, err
		}
	}
	return len(of[0].Items) > 0 && reflect.DeepEqual(of[0], of[1]), nil
}

// observed is a daemon that is asked how it stands: at its address, and by the commands beside it.
type observed struct {
	*harness.Lab
	address, directory string
}

// observe runs a daemon over a PF of which a policy offers all four VFs, until it has published them.
func observe(t *testing.T, plane *harness.Plane) *observed {
	t.Helper()
	lab := harness.NewLab(t, plane, pf0)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	directory := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	port, err := harness.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	lab.Run("--runtime-directory", directory, "--health-address", address)
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	readyWithin(t, address, http.StatusOK, starting)
	return &observed{lab, address, directory}
}

// Turns red when a daemon that publishes is not ready; when one that stands by is not ready or does not say for what; when metrics,
// status, verdicts or history tell otherwise than what is published; or when an API server that is gone does not show, or ends more
// than readiness.
func TestStatusOfARunningDaemon(t *testing.T) {
	t.Parallel()
	o := observe(t, harness.NewPlane(t, harness.Options{SecondServer: true}))
	o.judgeMetrics(t)
	o.judgeStatus(t)
	o.judgeVerdicts(t)
	o.judgeHistory(t)
	o.judgeStandby(t)
	o.judgeOutage(t)
}

func (o *observed) judgeMetrics(t *testing.T) {
	t.Helper()
	// Who watches the API sees a write before its writer has the answer.
	waitUntil(t, "/metrics tells of four published VFs", starting, func() bool {
		_, text := page(t, o.address, "/metrics")
		return strings.Contains(text, "\nsliced_host_devices{disposition=\"offered\"} 4\n") && strings.Contains(text, "\nsliced_serving 1\n") &&
			strings.Contains(text, "\nsliced_writes_total{driver=\""+harness.Driver+"\",verb=\"create\",result=\"succeeded\"} 1\n")
	})
}

func (o *observed) judgeStatus(t *testing.T) {
	t.Helper()
	text, code := askStatus(t, o.directory)
	if code != 0 || !strings.Contains(text, ": ready, serving\n") || !strings.Contains(text, "\n4 devices offered, ") {
		t.Errorf("sliced status: exit code %d\n%s", code, text)
	}
	text, code = askStatus(t, o.directory, "-o", "json")
	var list struct {
		Items []struct {
			Ready, Serving bool
			Summary        struct{ Offered int }
		}
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil || code != 0 || len(list.Items) != 1 ||
		!list.Items[0].Ready || !list.Items[0].Serving || list.Items[0].Summary.Offered != 4 {
		t.Errorf("sliced status -o json: %v, exit code %d\n%s", err, code, text)
	}
}

// judgeVerdicts: they are those of `explain`, which decides anew over the same host and policies.
func (o *observed) judgeVerdicts(t *testing.T) {
	t.Helper()
	_, running := page(t, o.address, "/verdicts")
	said, errs, code := o.Command("explain", "-o", "json")
	if same, err := sameJSON(running, said); err != nil || !same || code != 0 {
		t.Errorf("/verdicts is not what explain says: %v, exit code %d\n%s\n%s\n%s", err, code, running, said, errs)
	}
	if text, code := askStatus(t, o.directory, "verdicts"); code != 0 || text != running {
		t.Errorf("sliced status verdicts: exit code %d\n%s", code, text)
	}
	if code, body := page(t, o.address, "/verdicts?device=nobody"); code != http.StatusNotFound {
		t.Errorf("/verdicts of a device that is not there: %d %s", code, body)
	}
}

// judgeHistory: what an edit takes away, by which generation of which policy and by whose hand.
func (o *observed) judgeHistory(t *testing.T) {
	t.Helper()
	o.Apply("p", harness.Config("", harness.PFNames("ens1f0#0-1")))
	o.History.WaitOffers(t, 0, promptly, vfs(pf0, 0, 2)...)
	var changes struct {
		Items []struct {
			Change, Policy, Manager, Outcome string
			Generation                       int
			Devices                          []string
		}
	}
	history := exec.Command(harness.Program(t), "history", "--runtime-directory", o.directory, "--since", "1h", "-o", "json", vfs(pf0, 3, 4)[0])
	out, err := history.Output()
	if err := errors.Join(err, json.Unmarshal(out, &changes)); err != nil {
		t.Fatalf("sliced history: %v\n%s", err, out)
	}
	if n := len(changes.Items); n != 2 || changes.Items[0].Change != "found" || changes.Items[1].Change != "withdrawn" ||
		changes.Items[1].Generation != 2 || changes.Items[1].Outcome != "no-match" || len(changes.Items[1].Devices) != 2 ||
		changes.Items[1].Manager == "" || !strings.HasSuffix(changes.Items[1].Policy, "/p") {
		t.Errorf("sliced history: %s", out)
	}
	o.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	o.History.WaitOffers(t, 0, promptly, vfs(pf0, 0, 4)...)
}

// judgeStandby, as in a rollout with surge: the new one is ready while the old one writes.
func (o *observed) judgeStandby(t *testing.T) {
	t.Helper()
	second := o.Run("--runtime-directory", o.directory, "--pod-uid", "pod-2")
	second.WaitLog(starting, "another instance is active")
	var text string
	for deadline := harness.Limit(); ; time.Sleep(50 * time.Millisecond) {
		said, code := askStatus(t, o.directory, "--pod-uid", "pod-2", "readyz")
		text = said
		if code == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("who stands by is not ready: %s", text)
		}
	}
	if !strings.Contains(text, "stands by: another instance is active") {
		t.Errorf("who stands by does not say for what: %s", text)
	}
	second.Kill()
	if text, code := askStatus(t, o.directory, "--pod-uid", "pod-2"); code != 1 {
		t.Errorf("of a daemon that was killed: exit code %d\n%s", code, text)
	}
}

func (o *observed) judgeOutage(t *testing.T) {
	t.Helper()
	o.Server.Kill(t)
	if body := readyWithin(t, o.address, http.StatusServiceUnavailable, harness.Patience); !strings.Contains(body, "[-]api failed: unreachable") {
		t.Errorf("without API server: %s", body)
	}
	if code, body := page(t, o.address, "/livez"); code != http.StatusOK {
		t.Errorf("an API server that is gone ends the daemon's liveness: %d %s", code, body)
	}
	if text, code := askStatus(t, o.directory); code != 2 || !strings.Contains(text, "\n4 devices offered, ") {
		t.Errorf("without API server: exit code %d\n%s", code, text)
	}
	if err := o.Server.Start(); err != nil {
		t.Fatal(err)
	}
	readyWithin(t, o.address, http.StatusOK, reconnecting)
}
