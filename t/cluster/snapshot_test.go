package cluster

import (
	"path/filepath"
	"strings"
	"testing"

	"sliced.test/cluster/harness"
)

// Turns red when a bug report lacks the Node with the permissions that are shipped: no nodeSelector can be judged then.
func TestSnapshotWorksWithTheShippedPermissions(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.RunAsDeployed()
	policy := harness.Policy(lab.Namespace, "by-node", harness.Config("", harness.PFNames("ens1f0")))
	policy.Object["spec"].(M)["nodeSelector"] = M{"kubernetes.io/hostname": lab.Node}
	lab.Server.Apply(t, harness.Policies, policy)
	file := filepath.Join(t.TempDir(), "report.tar.zst")
	if _, said, code := lab.Command("snapshot", file); code != 0 || said != "" {
		t.Fatalf("snapshot: exit status %d: %s", code, said)
	}
	out, said, code := lab.Program("explain", "--host", file, harness.VFAddress(pf0.Address, 0))
	if code != 0 || !strings.Contains(out, "offered") {
		t.Errorf("explain of the snapshot: exit status %d: %s%s", code, out, said)
	}
}
