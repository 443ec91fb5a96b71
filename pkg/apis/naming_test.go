// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/pkg/apis/cluster/naming"
)

func TestMachine_GeneratesNameFromTemplate(t *testing.T) {
	long := strings.Repeat("a", 70)
	for template, test := range map[string]struct{ want, refused string }{
		"":                                          {want: "workers-bcdfg"},
		"{{ .cluster.name }}-{{.random}}":           {want: "shop-bcdfg"},
		"{{.machineSet.name}}-x-{{  .random  }}":    {want: "workers-x-bcdfg"},
		long + "-{{ .random }}":                     {want: long[:58] + "bcdfg"},
		"{{ .random }}-" + long:                     {want: ("bcdfg-" + long)[:58] + "bcdfg"},
		"node":                                      {refused: "must contain {{ .random }}"},
		"{{ .machine.name }}-{{ .random }}":         {refused: "unknown variable {{ .machine.name }}"},
		"{{ .random }}{{range .}}{{end}}":           {refused: "must not contain {{ or }}, except"},
		"{{ printf \"%1000000d\" 1 }}{{ .random }}": {refused: "must not contain {{ or }}, except"},
		"{{ .random }} }}":                          {refused: "must not contain {{ or }}, except"},
	} {
		got, err := naming.MachineName(template, "shop", "workers", "bcdfg")
		if got != test.want || (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("Machine(%q) = %q, %v; want %q, %q", template, got, err, test.want, test.refused)
		}
	}
}
