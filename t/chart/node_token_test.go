package chart

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

func ofNode(node *core.Node) *authentication.BoundObjectReference {
	return &authentication.BoundObjectReference{Kind: "Node", APIVersion: "v1", Name: node.Name, UID: node.UID}
}

// enableNodeTokens applies what the chart has for nodes whose daemon is a service of systemd, and waits until it judges.
func enableNodeTokens(t *testing.T, node *core.Node) {
	t.Helper()
	known, err := plane.Server.Mapper()
	if err != nil {
		t.Fatal(err)
	}
	for name, object := range objects(t, must(with(t, "nodeTokens: {enabled: true}"))) {
		if !strings.HasSuffix(name, "sliced-node-tokens") {
			continue
		}
		if err := plane.Server.ApplyServerSide(known, object); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	client := as(t, nodeToken(t, node))
	for deadline := harness.Limit(); ; time.Sleep(50 * time.Millisecond) {
		_, err := issue(client, 600, nil)
		if err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited until the limit of the test program for the admission policy to refuse a token; the last answer: %v", err)
		}
	}
}

// Turns red when a node's token makes one of another node, of none, or one that is good for long; when a pod's makes any; or when
// the script that nodes run writes anything but a good successor.
func TestANodesTokenCreatesOnlyItsSuccessor(t *testing.T) {
	a, b := plane.Server.NewNode(t, "token-a", nil), plane.Server.NewNode(t, "token-b", nil)
	enableNodeTokens(t, a)
	judging(t, a.Name)
	first := nodeToken(t, a)
	client := as(t, first)
	next, err := issue(client, 86400, ofNode(a))
	allowed(t, "its successor", err)
	_, err = slicesOf(as(t, next)).Create(context.Background(), slice("token-a", harness.Driver, a.Name), now)
	allowed(t, "a slice by the successor", err)
	_, err = slicesOf(as(t, next)).Create(context.Background(), slice("token-b", harness.Driver, b.Name), now)
	refused(t, "a slice of another node", err, "spec.nodeName")

	for what, ref := range map[string]*authentication.BoundObjectReference{"another node": ofNode(b), "nothing": nil,
		"a pod": {Kind: "Pod", APIVersion: "v1", Name: "token-a"}} {
		_, err := issue(client, 3600, ref)
		refused(t, "a token of "+what, err, "kind Node and name token-a")
	}
	_, err = issue(client, 90*24*3600, ofNode(a))
	refused(t, "a token for three months", err, "172800 (48 hours) at most")
	_, err = issue(as(t, podToken(t, a.Name)), 3600, ofNode(a))
	refused(t, "a token by a pod's", err, "only a token that is bound to a Node")
	_, err = client.CoreV1().ServiceAccounts(home).CreateToken(context.Background(), "default", &authentication.TokenRequest{}, now)
	if err == nil {
		t.Error("a token of another account was made")
	}
	renewByScript(t, a, first)
}

func renewByScript(t *testing.T, node *core.Node, first string) {
	t.Helper()
	directory := t.TempDir()
	file := filepath.Join(directory, "token")
	authority := filepath.Join(directory, "ca.crt")
	for path, text := range map[string]string{file: first, authority: string(plane.Server.AdminConfig().CAData)} {
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string) (string, error) {
		command := exec.Command("../../packaging/node-token/renew")
		command.Env = append(os.Environ(), "SERVER="+plane.Server.URL, "CA="+authority, "NODE="+name, "TOKEN="+file)
		said, err := command.CombinedOutput()
		return string(said), err
	}
	if said, err := run(node.Name); err != nil {
		t.Fatalf("renew: %v: %s", err, said)
	}
	renewed, _ := os.ReadFile(file)
	if strings.TrimSpace(string(renewed)) == first {
		t.Error("the token is that of before")
	}
	_, err := slicesOf(as(t, strings.TrimSpace(string(renewed)))).List(context.Background(), metav1.ListOptions{})
	allowed(t, "slices by the renewed token", err)
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o640 {
		t.Errorf("the file has mode %v", info.Mode())
	}
	said, err := run("token-b")
	if err == nil || !strings.Contains(said, "kind Node and name token-a") {
		t.Errorf("a token of another node: %v: %s", err, said)
	}
	if kept, _ := os.ReadFile(file); string(kept) != string(renewed) {
		t.Error("a refusal has changed the file")
	}
	if left, _ := filepath.Glob(file + ".*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
