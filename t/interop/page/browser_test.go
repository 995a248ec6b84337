package page

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sliced.test/interop"
)

// browser is a headless Chromium, spoken to by its DevTools protocol over a pipe.
type browser struct {
	to      *os.File
	mutex   sync.Mutex
	last    int
	answers map[int]chan message
	tabs    map[string]*tab
	gone    chan struct{}
}

type message struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    any             `json:"params,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	ours, theirs, err := pipes()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb", "--font-render-hinting=none",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe")
	cmd.ExtraFiles = theirs
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, file := range theirs {
		file.Close()
	}
	b := &browser{to: ours[1], answers: map[int]chan message{}, tabs: map[string]*tab{}, gone: make(chan struct{})}
	go b.listen(ours[0])
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		ours[0].Close()
		ours[1].Close()
	})
	return b
}

// pipes: what we read and write, and what the browser has as its descriptors 3 (reads) and 4 (writes).
func pipes() (ours, theirs []*os.File, err error) {
	in, toBrowser, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	fromBrowser, out, err := os.Pipe()
	return []*os.File{fromBrowser, toBrowser}, []*os.File{in, out}, err
}

func (b *browser) listen(from *os.File) {
	defer close(b.gone)
	reader := bufio.NewReaderSize(from, 1<<20)
	for {
		text, err := reader.ReadString(0)
		if err != nil {
			return
		}
		var said struct {
			message
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal([]byte(strings.TrimSuffix(text, "\x00")), &said) != nil {
			continue
		}
		b.mutex.Lock()
		if answer := b.answers[said.ID]; answer != nil {
			delete(b.answers, said.ID)
			answer <- said.message
		} else if tab := b.tabs[said.SessionID]; tab != nil {
			tab.events = append(tab.events, event{said.Method, string(said.Params)})
		}
		b.mutex.Unlock()
	}
}

func (b *browser) call(t *testing.T, session, method string, params, into any) {
	t.Helper()
	if err := b.try(t, session, method, params, into); err != nil {
		t.Fatal(err)
	}
}

// try returns the browser's error. Any other failure ends the test.
func (b *browser) try(t *testing.T, session, method string, params, into any) error {
	t.Helper()
	answer := make(chan message, 1)
	b.mutex.Lock()
	b.last++
	b.answers[b.last] = answer
	text, err := json.Marshal(message{ID: b.last, Method: method, Params: params, SessionID: session})
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	b.mutex.Unlock()
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	select {
	case said := <-answer:
		if said.Error != nil {
			return fmt.Errorf("%s: %s", method, said.Error.Message)
		}
		if into != nil {
			if err := json.Unmarshal(said.Result, into); err != nil {
				t.Fatalf("%s: %v", method, err)
			}
		}
	case <-b.gone:
		t.Fatalf("%s: the browser has ended", method)
	case <-time.After(time.Until(interop.Limit())):
		t.Fatalf("%s: the browser does not answer", method)
	}
	return nil
}

type event struct{ method, params string }

type tab struct {
	b       *browser
	t       *testing.T
	session string
	events  []event // by b.mutex
}

type p map[string]any

// openTab: an empty tab of that size. Without script the page's own is not run.
func (b *browser) openTab(t *testing.T, width, height int, script bool) *tab {
	t.Helper()
	var target struct{ TargetID string }
	b.call(t, "", "Target.createTarget", p{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call(t, "", "Target.attachToTarget", p{"targetId": target.TargetID, "flatten": true}, &attached)
	made := &tab{b: b, t: t, session: attached.SessionID}
	b.mutex.Lock()
	b.tabs[made.session] = made
	b.mutex.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		made.call(domain+".enable", p{}, nil)
	}
	made.call("Emulation.setDeviceMetricsOverride", p{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
	made.call("Emulation.setScriptExecutionDisabled", p{"value": !script}, nil)
	t.Cleanup(func() { b.call(t, "", "Target.closeTarget", p{"targetId": target.TargetID}, nil) })
	return made
}

func (tab *tab) call(method string, params p, into any) {
	tab.t.Helper()
	tab.b.call(tab.t, tab.session, method, params, into)
}

func (tab *tab) open(url string) {
	tab.t.Helper()
	tab.call("Page.navigate", p{"url": url}, nil)
	tab.until("document.readyState == 'complete' && location.href != 'about:blank'")
}

// value of an expression, as JSON has it.
func (tab *tab) value(expression string) any {
	tab.t.Helper()
	value, err := tab.evaluate(expression)
	if err != nil {
		tab.t.Fatal(err)
	}
	return value
}

func (tab *tab) evaluate(expression string) (any, error) {
	tab.t.Helper()
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	err := tab.b.try(tab.t, tab.session, "Runtime.evaluate", p{"expression": expression, "returnByValue": true, "awaitPromise": true, "allowUnsafeEvalBlockedByCSP": false}, &out)
	if err == nil && out.ExceptionDetails != nil {
		err = fmt.Errorf("%s: %s", expression, out.ExceptionDetails.Exception.Description)
	}
	return out.Result.Value, err
}

func (tab *tab) is(expression string, wanted any) {
	tab.t.Helper()
	if got := tab.value(expression); fmt.Sprint(got) != fmt.Sprint(wanted) {
		tab.t.Errorf("%s is %v, wanted %v", expression, got, wanted)
	}
}

// until the expression is true. It is asked again after an error: a page that is replaced meanwhile ends the evaluation, and a new one
// does not have all elements yet.
func (tab *tab) until(expression string) {
	tab.t.Helper()
	for deadline := interop.Limit(); ; time.Sleep(30 * time.Millisecond) {
		value, err := tab.evaluate(expression)
		if err == nil && value == true {
			return
		}
		if time.Now().After(deadline) {
			tab.t.Fatalf("waited until the limit of the test program for: %s: %v\n%v", expression, err, tab.value("document.body.innerText.slice(0, 3000)"))
		}
	}
}

func (tab *tab) key(name string) {
	tab.t.Helper()
	codes := map[string]int{"ArrowDown": 40, "ArrowUp": 38, "Enter": 13, "Escape": 27, "Tab": 9}
	down := p{"type": "keyDown", "key": name, "windowsVirtualKeyCode": codes[name]}
	if name == "Enter" {
		down["text"] = "\r"
	}
	if codes[name] == 0 {
		down["text"] = name
	}
	tab.call("Input.dispatchKeyEvent", down, nil)
	tab.call("Input.dispatchKeyEvent", p{"type": "keyUp", "key": name, "windowsVirtualKeyCode": codes[name]}, nil)
}

// said: parameters of all events of that kind.
func (tab *tab) said(method string) []string {
	tab.b.mutex.Lock()
	defer tab.b.mutex.Unlock()
	var out []string
	for _, event := range tab.events {
		if event.method == method {
			out = append(out, event.params)
		}
	}
	return out
}

// picture writes what is seen, if pictures were asked for.
func (tab *tab) picture(name string) {
	tab.t.Helper()
	if *pictures == "" {
		return
	}
	var shot struct{ Data string }
	tab.call("Page.captureScreenshot", p{"format": "png"}, &shot)
	bytes, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(*pictures, name), bytes, 0o644)
	}
	if err != nil {
		tab.t.Fatal(err)
	}
}
