// The fleet's page in a real browser: 5,000 nodes, keyboard, a narrow screen, and whatever things are called is text.
package page

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const fleetNodes = 5000

// startFleet serves the page of a directory of that many nodes, of which the first three have slices and reports.
func startFleet(t *testing.T, nodes int) (base, cluster string) {
	t.Helper()
	cluster = t.TempDir()
	var all strings.Builder
	for i := range nodes {
		fmt.Fprintf(&all, "---\napiVersion: v1\nkind: Node\nmetadata: {name: worker-%d}\n", i)
	}
	for i := range 3 {
		fmt.Fprintf(&all, "---\napiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: slice-%d}\n"+
			"spec: {driver: sriovnetwork.k8snetworkplumbingwg.io, nodeName: worker-%d, pool: {name: worker-%d, generation: 1, "+
			"resourceSliceCount: %d}, devices: [{name: vf-0}, {name: vf-1}]}\n", i, i, i, i/2+1)
	}
	writeFleet(t, cluster, "objects.yaml", all.String())
	writeFleet(t, cluster, "report.yaml", report("a problem"))
	return servePage(t, cluster), cluster
}

// serveFleet serves the page of a directory with these files.
func serveFleet(t *testing.T, files map[string]string, options ...string) (base string) {
	t.Helper()
	cluster := t.TempDir()
	for name, text := range files {
		writeFleet(t, cluster, name, text)
	}
	return servePage(t, cluster, options...)
}

func servePage(t *testing.T, cluster string, options ...string) (base string) {
	t.Helper()
	program, err := filepath.Abs("../../../build/kubectl-sliced")
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	page := exec.Command(program, append([]string{"page", "--cluster", "dir:" + cluster, "--page-address", address}, options...)...)
	page.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	page.Stderr = os.Stderr
	out, err := page.StdoutPipe()
	if err == nil {
		err = page.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		page.Process.Signal(syscall.SIGTERM)
		page.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "http://"+address+"/\n" {
		t.Fatalf("%q: %v", line, err)
	}
	return "http://" + address
}

func writeFleet(t *testing.T, cluster, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(cluster, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func report(problem string) string {
	return fmt.Sprintf("apiVersion: networking.dra.io/v1alpha1\nkind: NodeDeviceReport\nmetadata: {name: worker-0}\n"+
		"status: {daemonVersion: '0.1.0', problems: ['%s'], policies: [{kind: SriovResourcePolicy, namespace: ns, name: intel, "+
		"action: expose, generation: 1, matched: 2, offered: 2}], groups: [{type: vf, pf: '0000:3b:00.0', pfName: ens1f0, vfs: '0-3', "+
		"pciAddress: '0000:3b:01.0', disposition: hidden, verdicts: [{kind: DeviceExposurePolicy, name: no-vfs, outcome: excluded}]}]}\n", problem)
}

const workers = "document.querySelectorAll('tr.node')"

// Turns red when a large fleet cannot be scrolled or filtered, or what changes does not show.
func TestAFleetOfFiveThousandNodes(t *testing.T) {
	base, cluster := startFleet(t, fleetNodes)
	b := openBrowser(t)
	tab := b.openTab(t, 1280, 900, true)
	tab.open(base + "/")
	tab.until("document.getElementById('filter').hidden == false")
	tab.is(workers+".length", float64(fleetNodes))
	tab.value("scrollTo(0, document.documentElement.scrollHeight)")
	tab.until("[...document.querySelectorAll('tr.node')].at(-1).getBoundingClientRect().bottom < innerHeight + 400")
	tab.key("/")
	for _, letter := range "worker-4999" {
		tab.key(string(letter))
	}
	tab.is("[..."+workers+"].filter(one => !one.hidden).length", 1)
	tab.key("ArrowDown")
	tab.is("document.activeElement.textContent", "worker-4999")
	tab.key("Escape")
	tab.is("[..."+workers+"].filter(one => !one.hidden).length", float64(fleetNodes))

	tab.open(base + "/?health=warning")
	tab.until("document.getElementById('filter').hidden == false")
	tab.is(workers+".length", 1)
	writeFleet(t, cluster, "report.yaml", report("another problem"))
	tab.until("document.querySelector('tr.node .state').textContent.includes('another problem')")

	tab.open(base + "/?policy=ns%2Fintel")
	tab.is(workers+".length", 1)
	tab.open(base + "/node?name=worker-1")
	tab.is("document.querySelectorAll('#detail tbody tr').length", 2)
	tab.open(base + "/node?name=worker-0")
	tab.is("document.querySelectorAll('#detail tbody tr.hidden').length", 4)
	tab.is("document.querySelector('#detail tr.hidden').textContent", "0000:3b:01.0ens1f0hiddenDeviceExposurePolicy no-vfs excludes it")
	tab.open(base + "/why?pod=ns%2Fnobody")
	tab.until("document.querySelector('#detail .answer').textContent.includes('ns/nobody')")

	// What is counted follows, too.
	tab.is("document.querySelector('#counts [data-count=warning] b').textContent", "1")
	tab.is("document.querySelector('#policies tbody').textContent.includes('ns/intel')", true)
	if err := os.Remove(filepath.Join(cluster, "report.yaml")); err != nil {
		t.Fatal(err)
	}
	tab.until("document.querySelector('#counts [data-count=warning] b').textContent == '0'")
	tab.is("document.getElementById('effects').hidden", true)
}

func TestTheFleetFitsANarrowScreenAndNeedsNoScript(t *testing.T) {
	base, _ := startFleet(t, 30)
	b := openBrowser(t)
	for _, script := range []bool{true, false} {
		tab := b.openTab(t, 360, 740, script)
		tab.open(base + "/node?name=worker-2")
		tab.is(workers+".length", 30)
		tab.is("document.documentElement.scrollWidth", 360)
		tab.is("document.querySelector('tr.node.bad a').textContent", "worker-2")
	}
}

// broken is how many headings have a line break within: each is as high as one line.
const broken = "[...document.querySelectorAll('thead th')].filter(one => one.offsetParent && " +
	"one.getClientRects()[0].height - parseFloat(getComputedStyle(one).paddingTop) - parseFloat(getComputedStyle(one).paddingBottom) > " +
	"1.9 * parseFloat(getComputedStyle(one).fontSize)).length"

// Turns red when a heading breaks within a word, when a node with trouble is below the fold, when the page is wider than its screen, when
// numbers are not aligned, or when the first node of a narrow screen is far down.
func TestTheFleetPageFitsEachWidth(t *testing.T) {
	base, cluster := startFleet(t, 40)
	writeFleet(t, cluster, "report.yaml", strings.ReplaceAll(report(strings.Repeat("a long problem that fills the state and more of it ", 6)),
		"matched: 2, offered: 2", "matched: 19200, offered: 19200"))
	b := openBrowser(t)
	for _, width := range []int{360, 600, 800, 1024, 1280, 1920} {
		for _, path := range []string{"/", "/node?name=worker-1", "/?policy=ns%2Fintel"} {
			tab := b.openTab(t, width, 800, true)
			tab.open(base + path)
			tab.until("document.getElementById('filter').hidden == false")
			tab.is("document.documentElement.scrollWidth", float64(width))
			tab.is(broken, 0)
			tab.is("document.querySelector('h1').getClientRects()[0].height < 50", true)
		}
		tab := b.openTab(t, width, 800, true)
		tab.open(base + "/")
		tab.until("document.getElementById('filter').hidden == false")
		tab.is("document.querySelector('tr.node').getBoundingClientRect().top < 500", true)
		tab.is("[..."+workers+"].slice(0, 2).map(one => one.dataset.name).join()", "worker-2,worker-0")
		tab.is("[..."+workers+"].slice(0, 2).map(one => one.className).join()", "node bad,node warning")
		tab.is("document.getElementById('state').className", "bad")
		if width > 800 {
			tab.is("new Set([..."+workers+"].map(one => one.querySelector('[data-of=devices]').getBoundingClientRect().right)).size", 1)
			tab.is("getComputedStyle(document.querySelector('td.number')).textAlign", "right")
			tab.is("getComputedStyle(document.querySelector('td.number')).fontVariantNumeric", "tabular-nums")
		}
	}
}

// Turns red when anything that nodes say becomes markup, in what the server renders or in what the script does.
func TestNamesOfTheFleetAreEscaped(t *testing.T) {
	base, cluster := startFleet(t, 5)
	writeFleet(t, cluster, "report.yaml", report(hostile))
	b := openBrowser(t)
	for _, script := range []bool{false, true} {
		tab := b.openTab(t, 1280, 900, script)
		tab.open(base + "/")
		if script {
			writeFleet(t, cluster, "report.yaml", report("more: "+hostile))
			tab.until("document.querySelector('tr.node.warning .state').textContent.includes('more: <img src=x')")
		}
		tab.is("document.querySelectorAll('img, [onerror], svg, iframe').length", 0)
		tab.is("typeof pwned", "undefined")
	}
	if status, _ := (&node{t: t, base: base}).get("/nodes", map[string]string{"Host": "evil.example"}); status != 403 {
		t.Errorf("under another name: %d", status)
	}
	if status, _ := (&node{t: t, base: base}).get("/nodes", map[string]string{"Origin": "http://evil.example"}); status != 403 {
		t.Errorf("from another origin: %d", status)
	}
}
