// What an edit of policies would change, on the fleet's page: with its script and without, and as the file changes.
package page

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// intel is a policy that takes those VFs of ens1f0.
func intel(vfs string) string {
	return "apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: SriovResourcePolicy\n" +
		"metadata: {name: intel, namespace: dra-driver-sriov, generation: 1}\n" +
		"spec: {configs: [{resourceName: storage, resourceFilters: [{pfNames: ['ens1f0" + vfs + "']}]}]}\n"
}

// offering is the report of a node that offers four VFs by that policy.
func offering(node string) string {
	return fmt.Sprintf("---\napiVersion: networking.dra.io/v1alpha1\nkind: NodeDeviceReport\nmetadata: {name: %s}\n"+
		"status: {daemonVersion: '0.1.0', counts: {devices: 4, offered: 4}, policies: [{kind: SriovResourcePolicy, namespace: dra-driver-sriov, "+
		"name: intel, action: expose, generation: 1, matched: 4, offered: 4}], groups: [{type: vf, pf: '0000:3b:00.0', pfName: ens1f0, "+
		"vfs: '0-3', pciAddress: '0000:3b:01.0', vendor: '8086', product: '1889', driver: iavf, linkType: ethernet, disposition: offered, "+
		"verdicts: [{kind: SriovResourcePolicy, namespace: dra-driver-sriov, name: intel, outcome: offered}]}]}\n", node)
}

// startEdit serves the page of three nodes, of which worker-0 and worker-1 report, beside an edit that takes VF 3 away.
func startEdit(t *testing.T) (base, edited string) {
	t.Helper()
	edited = filepath.Join(t.TempDir(), "edited.yaml")
	writeEdit(t, edited, intel("#0-2"))
	return serveFleet(t, map[string]string{
		"nodes.yaml": "apiVersion: v1\nkind: Node\nmetadata: {name: worker-0}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: worker-1}\n" +
			"---\napiVersion: v1\nkind: Node\nmetadata: {name: worker-2}\n",
		"policies.yaml": intel("#0-3"), "reports.yaml": offering("worker-0") + offering("worker-1")}, "--diff", edited), edited
}

func writeEdit(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const (
	editRows = "[...document.querySelectorAll('#edit tbody tr')].map(row => row.textContent).join('\\n')"
	goneVF   = "- 0000-3b-01-3 (0000:3b:01.3), SriovResourcePolicy dra-driver-sriov/intel"
	summary  = "document.getElementById('edit-summary').textContent"
)

// Turns red when what an edit would do is not on the page, when it needs the script, or does not follow the file.
func TestTheEffectOfAnEditIsShownAndFollowed(t *testing.T) {
	base, edited := startEdit(t)
	b := openBrowser(t)
	wanted := "worker-0" + goneVF + "\nworker-1" + goneVF + "\nworker-2cannot be judged: it writes no report"
	told := "2 nodes would change, 0 nodes would not, 1 node cannot be judged"
	for _, script := range []bool{false, true} {
		tab := b.openTab(t, 1280, 900, script)
		tab.open(base + "/")
		tab.is(summary, told)
		tab.is(editRows, wanted)
		tab.is("document.querySelector('#edit a').getAttribute('href')", "/node?name=worker-0")
		if !script {
			// A page that is loaded once more is of the file as it is then.
			writeEdit(t, edited, intel("#0-3"))
			tab.open(base + "/")
			tab.is(summary, "0 nodes would change, 3 nodes would not")
			tab.is("document.getElementById('edit-problem').textContent.includes('equals the objects in the cluster: nothing would change')", true)
			writeEdit(t, edited, intel("#0-2"))
			continue
		}
		tab.until("document.getElementById('filter').hidden == false")
		tab.until(asked("/moment") + " >= 2")
		tab.is(asked("/edit"), 0) // of what has not changed
		writeEdit(t, edited, intel("#1-3"))
		tab.until("document.querySelector('#edit tbody').textContent.includes('- 0000-3b-01-0 (0000:3b:01.0)')")
		tab.is("document.querySelectorAll('#edit .removed').length", 2)
		writeEdit(t, edited, "kind: SriovResourcePolicy\n  broken")
		tab.until("document.getElementById('edit-problem').textContent.includes('edited.yaml:')")
		tab.is(editRows, "")
		if err := os.Remove(edited); err != nil {
			t.Fatal(err)
		}
		tab.until("document.getElementById('edit-problem').textContent.includes('No such file')")
		writeEdit(t, edited, intel("#0-2"))
		tab.until(summary + " == '" + told + "'")
		tab.is(editRows, wanted)
		tab.is("document.getElementById('edit-problem').hidden", true)
	}
	narrow := b.openTab(t, 360, 740, true)
	narrow.open(base + "/")
	narrow.is("document.documentElement.scrollWidth", 360)
}

// asked is how often the page has asked for that path.
func asked(path string) string {
	return "performance.getEntriesByType('resource').filter(one => new URL(one.name).pathname == '" + path + "').length"
}

// Turns red when the page of a node or of a pod tells of an edit that it does not follow, or breaks without.
func TestPagesOfANodeAndAPodOmitTheEdit(t *testing.T) {
	base, _ := startEdit(t)
	b := openBrowser(t)
	for _, path := range []string{"/node?name=worker-0", "/why?pod=ns%2Fnobody"} {
		tab := b.openTab(t, 1280, 900, true)
		tab.open(base + path)
		tab.is("document.getElementById('edit')", nil)
		tab.until(asked("/moment") + " >= 2")
		tab.is("document.getElementById('state').className", "")
	}
}

// Turns red when the page can be made to write, or what is in the file becomes markup.
func TestAnEditIsShownButNotApplied(t *testing.T) {
	base, edited := startEdit(t)
	for _, path := range []string{"/", "/edit"} {
		answer, err := http.Post(base+path, "text/plain", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", path, answer.StatusCode)
		}
	}
	answer, err := http.Get(base + "/")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("content security policy %q", policy)
	}
	named := func(name string) string {
		return strings.Replace(intel("#0-3"), "resourceName: storage", "resourceName: '"+name+"'", 1)
	}
	writeEdit(t, edited, named(hostile))
	b := openBrowser(t)
	for _, script := range []bool{false, true} {
		tab := b.openTab(t, 1280, 900, script)
		tab.open(base + "/")
		tab.is("document.getElementById('edit').textContent.includes('"+hostile+"')", true)
		if script {
			more := strings.ReplaceAll(hostile, "pwned=1", "pwned=2")
			writeEdit(t, edited, named(more))
			tab.until("document.getElementById('edit').textContent.includes('" + more + "')")
		}
		tab.is("document.querySelectorAll('img, [onerror], svg, iframe').length", 0)
		tab.is("typeof pwned", "undefined")
	}
	if status, _ := (&node{t: t, base: base}).get("/edit", map[string]string{"Origin": "http://evil.example"}); status != 403 {
		t.Errorf("from another origin: %d", status)
	}
}
