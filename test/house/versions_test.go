// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// requirement is a line of a go.mod that requires a module.
var requirement = regexp.MustCompile(`^(?:require\s+|\t)(\S+\.\S+/\S+) (v\S+)(?: // indirect)?$`)

func required(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if m := requirement.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			versions[m[1]] = m[2]
		}
	}
	return versions
}

// A package that both use is compiled once if its module and all its dependencies have the same version.
func TestKubernetesPrograms_UseTheSameModules(t *testing.T) {
	tools := required(t, "../../hack/tools/go.mod")
	both := 0
	for module, version := range required(t, "../../go.mod") {
		other, ok := tools[module]
		if !ok {
			continue
		}
		both++
		if other != version {
			t.Errorf("hack/tools/go.mod has %s %s, and go.mod %s: run \"go get %s@%s\" in hack/tools", module, other, version, module, version)
		}
	}
	if both < 100 {
		t.Errorf("only %d modules are in both", both)
	}
	kubernetes, staging := tools["k8s.io/kubernetes"], tools["k8s.io/api"]
	if strings.TrimPrefix(kubernetes, "v1") != strings.TrimPrefix(staging, "v0") {
		t.Errorf("hack/tools/go.mod has k8s.io/kubernetes %s and k8s.io/api %s", kubernetes, staging)
	}
}
