//go:build !kube1.34 && !kube1.35

package cluster

import (
	"bytes"
	"encoding/json"
	"testing"

	"k8s.io/dynamic-resource-allocation/api/metadata"
	"k8s.io/dynamic-resource-allocation/devicemetadata"
	health "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
)

// tells decodes a file as virt-launcher does, and holds it against the API's own rules.
func tells(t *testing.T, text []byte) *metadata.DeviceMetadata {
	t.Helper()
	var invalid error
	found := &metadata.DeviceMetadata{}
	err := devicemetadata.DecodeMetadataFromStream(json.NewDecoder(bytes.NewReader(text)), found,
		devicemetadata.DecodeMetadataWithValidationResult(&invalid))
	if err != nil || invalid != nil {
		t.Fatalf("%v %v: %s", err, invalid, text)
	}
	return found
}

// messageOf is why a device is as it is.
func messageOf(device *health.DeviceHealth) string { return device.Message }
