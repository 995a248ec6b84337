package asked

import (
	"fmt"
	"sort"

	resourceapi "k8s.io/api/resource/v1"
)

// Classes are DeviceClasses by name, as the allocator looks them up.
type Classes map[string]*resourceapi.DeviceClass

func (c Classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if class, ok := c[name]; ok {
		return class, nil
	}
	return nil, fmt.Errorf("no DeviceClass %s", name)
}

func (c Classes) List() ([]*resourceapi.DeviceClass, error) {
	var out []*resourceapi.DeviceClass
	for _, class := range c {
		out = append(out, class)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}
