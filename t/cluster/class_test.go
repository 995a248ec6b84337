package cluster

import (
	"context"
	"strings"
	"testing"

	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

// Turns red when a DeviceClass cannot be written as docs/attributes.md says, or can be written as it says one cannot.
func TestDocumentedClassExpressions(t *testing.T) {
	t.Parallel()
	d := `device.attributes["dra.networking"]`
	for cel, said := range map[string]string{
		d + `.supportedCNIs.contains(",sriov,")`: "",
		d + `.cni_sriov`:                         "",
		d + `.?cni_sriov.orValue(false)`:         "",
		`has(` + d + `.supportedCNIs) && ` + d + `.supportedCNIs.contains(",sriov,")`: "",
		d + `.?supportedCNIs.orValue("").contains(",sriov,")`:                         "exceeds cost limit",
	} {
		class := &resource.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "documented"}, Spec: resource.DeviceClassSpec{
			Selectors: []resource.DeviceSelector{{CEL: &resource.CELDeviceSelector{
				Expression: `device.driver == "` + harness.ExposureDriver + `" && ` + cel}}}}}
		_, err := shared.Server.Client.ResourceV1().DeviceClasses().Create(context.Background(), class, strictly)
		if (err == nil) != (said == "") || (err != nil && !strings.Contains(err.Error(), said)) {
			t.Errorf("%s: %v, wanted %q", cel, err, said)
		}
	}
}
