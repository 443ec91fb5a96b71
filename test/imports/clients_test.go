// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// serverOnly are packages that clients do not need.
var serverOnly = []string{
	"k8s.io/apiserver", "k8s.io/component-base", "k8s.io/kms", "go.etcd.io", govmomi, "google.golang.org/grpc", "go.opentelemetry.io", "github.com/google/cel-go",
	"github.com/spf13/cobra",
}

// clientTrees are the trees of this module that clients import.
var clientTrees = []string{
	"pkg/apis", "pkg/generated/applyconfiguration", "pkg/generated/clientset", "pkg/generated/informers", "pkg/generated/listers",
}

// foreign returns the packages of deps that a client must not import.
func foreign(deps []string) []string {
	return slices.DeleteFunc(slices.Clone(deps), func(dep string) bool {
		if ours, ok := strings.CutPrefix(dep, module); ok {
			return slices.ContainsFunc(clientTrees, func(tree string) bool { return below(ours, tree) })
		}
		return !slices.ContainsFunc(serverOnly, func(tree string) bool { return below(dep, tree) })
	})
}

func TestClients_ImportNoServerPackages(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"go": 330, "controller-runtime": 600} {
		t.Run(name, func(t *testing.T) {
			list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
			list.Dir, list.Stderr = filepath.Join("../../artifacts/clients", name), os.Stderr
			out, err := list.Output()
			if err != nil {
				t.Fatalf("go list: %v; after a change of our go.mod run go mod tidy in %s", err, list.Dir)
			}
			deps := strings.Fields(string(out))
			if !slices.Contains(deps, module+"pkg/apis/vm/v1alpha1") {
				t.Fatalf("the example does not import the types: %v", deps)
			}
			for _, dep := range foreign(deps) {
				t.Errorf("%s reaches %s", name, dep)
			}
			if len(deps) > most {
				t.Errorf("%s imports %d packages outside of the standard library, more than %d", name, len(deps), most)
			}
		})
	}
}

func TestClients_ServerImportsAreFound(t *testing.T) {
	t.Parallel()
	deps := []string{"k8s.io/client-go/rest", "k8s.io/apiserver/pkg/server", module + "pkg/apis/vm/v1alpha1", module + "pkg/registry/vm", "go.etcd.io/etcd/api/v3/version"}
	want := []string{"k8s.io/apiserver/pkg/server", module + "pkg/registry/vm", "go.etcd.io/etcd/api/v3/version"}
	if got := foreign(deps); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
