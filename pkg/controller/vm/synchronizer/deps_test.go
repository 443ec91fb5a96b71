// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Neither the synchronizers nor the packages that they use may reach a package that can write a VirtualMachine, or a
// clock that can wait.
func TestDependencies_HaveNoWritingClient(t *testing.T) {
	const module = "github.com/slipway-dev/slipway/"
	forbidden := []string{
		"k8s.io/client-go/", "k8s.io/apiserver/", "k8s.io/utils/clock", "sigs.k8s.io/controller-runtime/", "github.com/vmware/govmomi",
		"net/http/httptest", module + "pkg/generated/", module + "pkg/registry/", module + "cmd/",
	}
	for _, pkg := range []string{".", module + "pkg/instancetype", module + "pkg/instancetype/apply"} {
		cmd := exec.Command("go", "list", "-deps", pkg)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list -deps %s: %v: %s", pkg, err, stderr.String())
		}
		deps := strings.Fields(string(out))
		if len(deps) < 10 {
			t.Fatalf("go list -deps %s returned only %v", pkg, deps)
		}
		for _, dep := range deps {
			for _, prefix := range forbidden {
				if strings.HasPrefix(dep+"/", prefix) {
					t.Errorf("%s reaches %s", pkg, dep)
				}
			}
		}
	}
}
