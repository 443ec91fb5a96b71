// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"bytes"
	"fmt"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/types"
)

// use is the resource use of a virtual machine: CPU in hertz, guest memory and host memory in bytes, -1 if unknown.
type use struct{ hertz, active, host int64 }

// noUse is an unknown resource use.
var noUse = use{unknown, unknown, unknown}

// useMetrics are the server's metrics of resource use.
var useMetrics = map[string]func(*use) *int64{
	"slipway_virtualmachine_cpu_usage_hertz":     func(u *use) *int64 { return &u.hertz },
	"slipway_virtualmachine_memory_active_bytes": func(u *use) *int64 { return &u.active },
	"slipway_virtualmachine_memory_host_bytes":   func(u *use) *int64 { return &u.host },
}

// readUse reads metrics from files.
func (f command) readUse(files []string) (map[types.NamespacedName]use, error) {
	all := map[types.NamespacedName]use{}
	for _, file := range files {
		data, err := f.ReadFile(file)
		if err != nil {
			return nil, err
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("--metrics %s: not in the text format of Prometheus: %w", file, err)
		}
		found := false
		for name, field := range useMetrics {
			for _, m := range families[name].GetMetric() {
				var key types.NamespacedName
				for _, l := range m.GetLabel() {
					switch l.GetName() {
					case "namespace":
						key.Namespace = l.GetValue()
					case "name":
						key.Name = l.GetValue()
					}
				}
				u, ok := all[key]
				if !ok {
					u = noUse
				}
				*field(&u) = int64(m.GetGauge().GetValue())
				all[key], found = u, true
			}
		}
		if !found {
			fmt.Fprintf(f.Streams.ErrOut, "warning: --metrics %s has no usage metrics: the server must run with --vm-metrics=usage\n", file)
		}
	}
	return all, nil
}
