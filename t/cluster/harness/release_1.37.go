//go:build !kube1.34 && !kube1.35 && !kube1.36

package harness

import (
	"context"

	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

// WatchHealthStatus is asked of every driver from 1.37 on. This one's devices are as well as they ever were.
func (*OtherDriver) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}
