// The page that a node serves, in a real browser: it follows the host, is used by keyboard and on a narrow screen, works without
// script, and whatever things are called is text. With -pictures DIRECTORY it draws the pictures of the documentation.
package page

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sliced.test/interop"
)

var pictures = flag.String("pictures", "", "where pictures are written")

const (
	hostile     = `<img src=x onerror=pwned=1>`
	hostileLink = `"><b>x&'`
	vf          = "0000:03:00.4"
	vfDirectory = "sys/devices/pci0000:00/0000:00:01.0/" + vf
	vfLink      = "enp3s0f0v2"
)

// node is a daemon over the example's host and policies.
type node struct {
	t                   *testing.T
	host, cluster, base string
	daemon              *exec.Cmd
}

func startNode(t *testing.T) *node {
	t.Helper()
	program, err := filepath.Abs("../../../build/sliced")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	n := &node{t: t, host: filepath.Join(root, "host"), cluster: filepath.Join(root, "cluster")}
	run := filepath.Join(root, "run")
	for _, directory := range []string{n.host, n.cluster, run} {
		if err := os.Mkdir(directory, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	n.unpack()
	policies, err := os.ReadFile("../../../config/examples/reference-node/policies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	n.write(filepath.Join(n.cluster, "policies.yaml"), string(policies))
	address := freeAddress(t)
	n.base = "http://" + address
	n.daemon = exec.Command(program, "run", "--host", n.host, "--cluster", "dir:cluster", "--node-name", "reference-node",
		"--health-address", address, "--runtime-directory", run)
	n.daemon.Dir = root
	log, err := os.Create(filepath.Join(root, "log"))
	if err != nil {
		t.Fatal(err)
	}
	n.daemon.Stderr = log
	n.daemon.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := n.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.daemon.Process.Signal(syscall.SIGTERM)
		n.daemon.Wait()
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("the daemon said:\n%s", said)
		}
	})
	for deadline := interop.Limit(); ; time.Sleep(50 * time.Millisecond) {
		if status, _ := n.get("/readyz", nil); status == http.StatusOK {
			return n
		} else if time.Now().After(deadline) {
			t.Fatalf("waited until the limit of the test program for the daemon to be ready; /readyz answers with %d", status)
		}
	}
}

// freeAddress avoids the kernel's ephemeral range: while a daemon is down, the port must not be given to the browser's attempts to
// connect, one of which would connect to itself and keep the port.
func freeAddress(t *testing.T) string {
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", 15000+rand.IntN(17000))
		if listener, err := net.Listen("tcp", address); err == nil {
			listener.Close()
			return address
		}
	}
	t.Fatal("no free port between 15000 and 32000")
	return ""
}

func (n *node) write(path, text string) {
	n.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

// unpack makes the host as the example has it; what the example does not know stays.
func (n *node) unpack() {
	n.t.Helper()
	if out, err := exec.Command("../../../config/examples/reference-node/unpack", n.host).CombinedOutput(); err != nil {
		n.t.Fatalf("unpack: %v %s", err, out)
	}
}

// read has the daemon read the host again: a tree of files tells no events.
func (n *node) read() { n.daemon.Process.Signal(syscall.SIGHUP) }

func (n *node) remove(path ...string) {
	n.t.Helper()
	for _, one := range path {
		if err := os.RemoveAll(filepath.Join(n.host, one)); err != nil {
			n.t.Fatal(err)
		}
	}
}

func (n *node) removeVF() {
	n.t.Helper()
	n.remove("sys/class/net/"+vfLink, "sys/bus/pci/devices/"+vf, "sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0/virtfn2", vfDirectory)
	n.read()
}

// addLink: a virtual link of whatever name.
func (n *node) addLink(name string) {
	n.t.Helper()
	directory := filepath.Join(n.host, "sys/devices/virtual/net", name)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		n.t.Fatal(err)
	}
	for file, text := range map[string]string{"ifindex": "999", "type": "1", "mtu": "1500", "operstate": "up", "address": "02:00:5e:00:53:99",
		"uevent": "INTERFACE=" + name + "\nIFINDEX=999"} {
		n.write(filepath.Join(directory, file), text+"\n")
	}
	if err := os.Symlink("../../devices/virtual/net/"+name, filepath.Join(n.host, "sys/class/net", name)); err != nil {
		n.t.Fatal(err)
	}
	n.read()
}

func (n *node) get(path string, headers map[string]string) (int, string) {
	n.t.Helper()
	request, err := http.NewRequest("GET", n.base+path, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	for key, value := range headers {
		if key == "Host" {
			request.Host = value
		}
		request.Header.Set(key, value)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

// rowOf is an expression for the row of a device.
func rowOf(id string) string { return fmt.Sprintf("document.querySelector('tr[data-id=%q]')", id) }

// Turns red when a function that comes or goes does not show without the page being loaded again.
func TestFollowsTheHost(t *testing.T) {
	n, b := startNode(t), openBrowser(t)
	tab := b.openTab(t, 1280, 900, true)
	tab.open(n.base + "/")
	tab.is(rowOf(vf)+".querySelector('.name').textContent", vfLink)
	tab.is("document.querySelectorAll('tr.device.pf').length", 2)
	tab.value("isStill = 1")
	all := tab.value("document.querySelectorAll('tr.device').length").(float64)
	n.removeVF()
	tab.until(rowOf(vf) + " == null")
	tab.is("document.querySelectorAll('tr.device').length", all-1)
	n.unpack()
	n.read()
	tab.until(rowOf(vf) + " != null")
	tab.is(rowOf(vf)+".previousElementSibling.dataset.id", "0000:03:00.3")
	tab.is(rowOf(vf)+".nextElementSibling.dataset.id", "0000:03:00.5")
	tab.until(rowOf(vf) + ".dataset.disposition == 'offered'")
	tab.until("Number(document.querySelector('#counts a b').textContent) == " + fmt.Sprint(all))
	tab.until("[...document.querySelectorAll('#history li')].some(one => one.textContent.includes('withdrawn') && one.textContent.includes('gone'))")
	if err := os.Remove(filepath.Join(n.cluster, "policies.yaml")); err != nil {
		t.Fatal(err)
	}
	tab.until("document.querySelectorAll('tr.device[data-disposition=offered]').length == 0")
	tab.until("document.querySelector('#counts a[data-disposition=offered] b').textContent == '0'")
	tab.is("isStill", 1)
}

// Turns red when a page that was away for a while goes on with what it knew.
func TestReconnectsAfterADaemonRestart(t *testing.T) {
	n, b := startNode(t), openBrowser(t)
	tab := b.openTab(t, 1280, 900, true)
	tab.open(n.base + "/")
	tab.until("document.getElementById('state').textContent.startsWith('ready')")
	n.daemon.Process.Signal(syscall.SIGTERM)
	n.daemon.Wait()
	tab.until("document.getElementById('state').className == 'stale'")
	n.removeVF()
	again := exec.Command(n.daemon.Path, n.daemon.Args[1:]...)
	again.SysProcAttr, again.Dir = n.daemon.SysProcAttr, n.daemon.Dir
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	n.daemon = again
	tab.until("document.getElementById('state').textContent.startsWith('ready')")
	tab.until(rowOf(vf) + " == null")
}

func TestSupportsTheKeyboard(t *testing.T) {
	n, b := startNode(t), openBrowser(t)
	tab := b.openTab(t, 1280, 900, true)
	tab.open(n.base + "/")
	tab.until("document.getElementById('search').hidden == false")
	tab.key("/")
	tab.is("document.activeElement.id", "filter")
	for _, letter := range vfLink {
		tab.key(string(letter))
	}
	tab.is("document.getElementById('filter').value", vfLink)
	tab.is("[...document.querySelectorAll('tr.device')].filter(one => !one.hidden).length", 1)
	tab.key("ArrowDown")
	tab.is("document.activeElement.textContent", vfLink)
	tab.key("Enter")
	tab.until("document.querySelector('tr.detail li') != null")
	tab.is("document.activeElement.getAttribute('aria-expanded')", "true")
	tab.is("document.querySelectorAll('tr.detail .said').length > 0", true)
	tab.key("Escape")
	tab.is("document.querySelector('tr.detail')", nil)
	tab.key("/")
	tab.key("Escape")
	tab.is("document.getElementById('filter').value", "")
	tab.value("document.activeElement.blur()")
	// Everything is reached by Tab, too, and says where it is.
	seen := map[string]bool{}
	for range 40 {
		tab.key("Tab")
		seen[fmt.Sprint(tab.value("document.activeElement.closest('nav, table, footer, #search')?.id || document.activeElement.closest('footer')?.localName"))] = true
		if outline := tab.value("document.activeElement == document.body ? '' : getComputedStyle(document.activeElement).outlineStyle"); outline == "none" {
			t.Errorf("no outline of %v", tab.value("document.activeElement.outerHTML"))
		}
	}
	for _, place := range []string{"counts", "search", "devices"} {
		if !seen[place] {
			t.Errorf("Tab does not come to %s: %v", place, seen)
		}
	}
}

func TestFitsANarrowScreen(t *testing.T) {
	n, b := startNode(t), openBrowser(t)
	tab := b.openTab(t, 360, 740, true)
	tab.open(n.base + "/")
	n.addLink("averyveryvery-longname-of-a-link-that-nobody-has-but-might")
	tab.until("document.querySelector('tr[data-id^=averyvery]') != null")
	tab.value(rowOf(vf) + ".querySelector('a').click()")
	tab.until("document.querySelector('tr.detail li') != null")
	tab.is("document.documentElement.scrollWidth", 360)
	tab.value("scrollTo(0, 0)")
	tab.picture("page-narrow.png")
}

// Turns red when anything that others name becomes markup, in what the server renders or in what the script does.
func TestNamesAreEscaped(t *testing.T) {
	n, b := startNode(t), openBrowser(t)
	drive := func(name string) {
		n.remove("sys/bus/pci/devices/" + vf + "/driver")
		if err := os.Symlink("../../../../bus/pci/drivers/"+name, filepath.Join(n.host, "sys/bus/pci/devices", vf, "driver")); err != nil {
			t.Fatal(err)
		}
		n.read()
	}
	drive(hostile)
	// Who wrote a policy is what a client calls itself.
	write := func(manager string) {
		n.write(filepath.Join(n.cluster, "hostile.yaml"), fmt.Sprintf("apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\n"+
			"metadata: {name: no-vfs, managedFields: [{manager: '%s', operation: Update, time: '2026-11-21T00:17:41Z'}]}\n"+
			"spec: {priority: 1000, selector: {cel: 'device.attributes[\"dra.networking\"].type == \"vf\"'}, action: exclude}\n"+
			"---\napiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: SriovResourcePolicy\n"+
			"metadata: {name: others, namespace: dra-driver-sriov}\nspec: {configs: [{resourceFilters: [{drivers: [other]}]}]}\n", manager))
	}
	write(hostile)
	n.addLink(strings.ReplaceAll(hostileLink, "/", ""))
	for _, script := range []bool{false, true} {
		tab := b.openTab(t, 1280, 900, script)
		for deadline := interop.Limit(); ; time.Sleep(50 * time.Millisecond) {
			_, devices := n.get("/devices", nil)
			_, history := n.get("/history", nil)
			if strings.Contains(devices, "onerror") && strings.Contains(devices, "x&'") && strings.Contains(history, "onerror") {
				break
			} else if time.Now().After(deadline) {
				t.Fatalf("the hostile names do not come: %s\n%s", devices, history)
			}
		}
		tab.open(n.base + "/?device=" + vf)
		if script {
			tab.value(rowOf(vf) + ".querySelector('a').click()")
			tab.until("document.querySelector('tr.detail li') != null")
			// Rows of the script's making, too.
			drive(strings.ReplaceAll(hostile, "pwned=1", "pwned=2"))
			tab.until(rowOf(vf) + ".textContent.includes('pwned=2')")
			tab.until("document.querySelector('tr.detail .explanation').textContent.includes('pwned=2')")
			if err := os.Remove(filepath.Join(n.cluster, "hostile.yaml")); err != nil {
				t.Fatal(err)
			}
			tab.until(rowOf(vf) + ".dataset.disposition == 'offered'")
			write(strings.ReplaceAll(hostile, "pwned=1", "pwned=3"))
			tab.until("document.getElementById('history').textContent.includes('pwned=3')")
		}
		tab.is("document.querySelector('.explanation').textContent.includes('<img src=x onerror=')", true)
		tab.is("document.getElementById('history').textContent.includes('<img src=x onerror=')", true)
		tab.is(rowOf(vf)+".textContent.includes('<img src=x onerror=')", true)
		tab.is("document.querySelectorAll('img, b:not(#counts b), [onerror], svg, iframe').length", 0)
		tab.is("typeof pwned", "undefined")
		tab.is(fmt.Sprintf("[...document.querySelectorAll('.name a')].some(one => one.textContent == %q)", hostileLink), true)
	}
}

// Turns red when the page could load, run or send anything that is not its own.
func TestRunsOnlyItsOwnScripts(t *testing.T) {
	n, b := startNode(t), openBrowser(t)
	tab := b.openTab(t, 1280, 900, true)
	tab.open(n.base + "/")
	tab.until("document.getElementById('state').textContent.startsWith('ready')")
	for _, request := range tab.said("Network.requestWillBeSent") {
		if !strings.Contains(request, `"url":"`+n.base+"/") {
			t.Errorf("asked for elsewhere: %s", request)
		}
	}
	for _, log := range append(tab.said("Log.entryAdded"), tab.said("Runtime.exceptionThrown")...) {
		if !strings.Contains(log, "favicon") {
			t.Errorf("the browser complains: %s", log)
		}
	}
	blocked := `(async () => {
		const out = [];
		const inline = document.createElement('script');
		try { inline.textContent = 'window.ran = 1'; document.head.append(inline); } catch { out.push('script'); }
		if (typeof ran == 'undefined') out.push('inline');
		try { document.body.insertAdjacentHTML('beforeend', '<b id=made></b>'); } catch { out.push('markup'); }
		try { eval('1'); } catch { out.push('eval'); }
		const style = document.createElement('style'); style.textContent = 'h1 {color: rgb(1, 2, 3)}'; document.head.append(style);
		if (getComputedStyle(document.querySelector('h1')).color != 'rgb(1, 2, 3)') out.push('style');
		try { await fetch('http://127.0.0.2:1/'); } catch { out.push('fetch'); }
		return out.join();
	})()`
	tab.is(blocked, "script,inline,markup,eval,style,fetch")
	tab.is("document.getElementById('made')", nil)
	if got := len(tab.said("Network.requestWillBeSent")); got == 0 {
		t.Error("the judge sees no requests")
	}
	if status, body := n.get("/", nil); status != 200 || strings.Contains(body, "style=") || strings.Contains(body, "<script>") || strings.Contains(body, "onclick") {
		t.Errorf("inline style or script: %d", status)
	}
}

func TestWorksWithoutScript(t *testing.T) {
	n, b := startNode(t), openBrowser(t)
	tab := b.openTab(t, 1280, 900, false)
	tab.open(n.base + "/")
	tab.is("document.querySelectorAll('tr.device').length > 10", true)
	tab.is("document.getElementById('search').hidden", true)
	tab.is("document.querySelectorAll('#history li').length > 0", true)
	tab.value(rowOf(vf) + ".querySelector('a').click()")
	tab.until("location.search.startsWith('?device=') && document.readyState == 'complete'")
	tab.is("document.querySelector('section.explanation h2').textContent", vf)
	tab.is("document.querySelectorAll('section.explanation li').length > 0", true)
	tab.open(n.base + "/?disposition=hidden")
	tab.is("[...document.querySelectorAll('tr.device')].every(one => one.dataset.disposition == 'hidden')", true)
}

// Turns red when a page of somebody else's in an administrator's browser can read this one.
func TestRefusesCrossOriginRequests(t *testing.T) {
	n := startNode(t)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(n.base, "http://"))
	for _, path := range []string{"/", "/devices", "/verdicts", "/history", "/status", "/page.js", "/page.css"} {
		for _, row := range []struct {
			headers map[string]string
			status  int
		}{
			{nil, 200},
			{map[string]string{"Host": "localhost:" + port}, 200},
			{map[string]string{"Host": "[::1]:" + port}, 200},
			{map[string]string{"Host": "Reference-Node:" + port}, 200},
			{map[string]string{"Host": "rebound.example:" + port}, 403},
			{map[string]string{"Host": "127.0.0.1.rebound.example"}, 403},
			{map[string]string{"Host": "localhost.rebound.example"}, 403},
			{map[string]string{"Origin": n.base}, 200},
			{map[string]string{"Origin": "http://rebound.example"}, 403},
			{map[string]string{"Origin": "null"}, 403},
			{map[string]string{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}, 200},
			{map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403},
			{map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403},
			{map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200},
		} {
			if status, body := n.get(path, row.headers); status != row.status {
				t.Errorf("%s with %v: %d, wanted %d: %.200s", path, row.headers, status, row.status, body)
			}
		}
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		if status, _ := n.get(path, map[string]string{"Host": "sliced.monitoring.svc"}); status != 200 {
			t.Errorf("%s under a service's name: %d", path, status)
		}
	}
	if response, err := http.Post(n.base+"/", "text/plain", strings.NewReader("x")); err != nil || response.StatusCode != 405 {
		t.Errorf("POST: %v %v", response, err)
	}
}

func TestPictures(t *testing.T) {
	n, b := startNode(t), openBrowser(t)
	for _, scheme := range []string{"light", "dark"} {
		tab := b.openTab(t, 1280, 860, true)
		tab.call("Emulation.setEmulatedMedia", p{"features": []p{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
		tab.open(n.base + "/")
		tab.until("document.getElementById('state').textContent.startsWith('ready')")
		tab.value(rowOf(vf) + ".querySelector('a').click()")
		tab.until("document.querySelector('tr.detail li') != null")
		// Text has to be read: at least 4.5 to 1, as WCAG has it.
		tab.is(contrast, "")
		tab.value("document.activeElement.blur(); scrollTo(0, 0)")
		tab.picture("page-" + scheme + ".png")
	}
}

// Texts with too little contrast against what is behind them.
const contrast = `(() => {
	const numbers = color => color.match(/[\d.]+/g).map(Number);
	const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
	const behind = node => {
		for (; node; node = node.parentElement) {
			const color = numbers(getComputedStyle(node).backgroundColor);
			if (color.length < 4 || color[3] == 1) return color;
		}
		return [255, 255, 255];
	};
	const bad = new Set();
	for (const node of document.querySelectorAll('body *')) {
		if (![...node.childNodes].some(one => one.nodeType == 3 && one.data.trim()) || !node.offsetParent) continue;
		const [a, b] = [luminance(numbers(getComputedStyle(node).color)), luminance(behind(node))].sort((x, y) => y - x);
		if ((a + .05) / (b + .05) < 4.5) bad.add(node.localName + '.' + node.className + ' ' + ((a + .05) / (b + .05)).toFixed(2));
	}
	return [...bad].join('; ');
})()`
