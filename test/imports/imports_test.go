// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImports_FollowTheRules(t *testing.T) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	packages := 0
	for {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages++
		for _, v := range append(violations(p), climbs(p)...) {
			t.Error(v)
		}
	}
	// With an empty list the test would pass.
	if packages < len(table) {
		t.Errorf("the go command listed %d packages, want at least %d", packages, len(table))
	}
}

func TestDocument_HasTheCurrentRules(t *testing.T) {
	is, err := os.ReadFile("../../docs/contributing/imports.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Document(string(is))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(is)); diff != "" {
		t.Errorf("docs/contributing/imports.md is not what make generate (go run ./hack/imports-table docs/contributing/imports.md) writes (-want +got):\n%s", diff)
	}
}

func TestImports_EveryRuleHasAReason(t *testing.T) {
	for _, r := range table {
		if r.why == "" {
			t.Errorf("the rule of %q has none", r.tree)
		}
	}
}

func TestImports_ViolationsAreFound(t *testing.T) {
	for name, tc := range map[string]struct {
		path    string
		imports []string
		deps    []string
		want    []string
	}{
		"API reaches client-go": {path: "pkg/apis/vm", deps: []string{clientGo + "/rest"}, want: []string{"pkg/apis/vm reaches k8s.io/client-go/rest"}},
		"API reaches API":       {path: "pkg/apis/scheme", deps: []string{module + "pkg/apis/vm/v1alpha1"}},
		"registry reaches a controller": {
			path: "pkg/registry/vm", deps: []string{module + "pkg/apis/vm", module + "pkg/controller"},
			want: []string{"pkg/registry/vm reaches pkg/controller"},
		},
		"loop imports a package below the queue": {
			path: "pkg/controller", deps: []string{module + "pkg/priorityqueue/page"},
			want: []string{"pkg/controller reaches pkg/priorityqueue/page"},
		},
		"the server reaches a provider": {
			path: "pkg/apiserver", deps: []string{module + "pkg/provider"},
			want: []string{"pkg/apiserver reaches pkg/provider"},
		},
		"loop reaches queue": {path: "pkg/controller", deps: []string{module + "pkg/priorityqueue"}},
		"queue reaches loop": {
			path: "pkg/priorityqueue", deps: []string{module + "pkg/controller"},
			want: []string{"pkg/priorityqueue reaches pkg/controller"},
		},
		"provider interface reaches an implementation": {
			path: "pkg/provider", deps: []string{module + "pkg/provider/vsphere"},
			want: []string{"pkg/provider reaches pkg/provider/vsphere"},
		},
		"vsphere reaches the interface": {path: "pkg/provider/vsphere/session", deps: []string{module + "pkg/provider", govmomi}, imports: []string{govmomi}},
		"a program imports govmomi": {
			path: "cmd/slipway-dev/app", imports: []string{govmomi + "/object"},
			want: []string{"cmd/slipway-dev/app imports github.com/vmware/govmomi/object"},
		},
		"a decision takes a context": {path: "pkg/instancetype/apply", imports: []string{"context"}, want: []string{"pkg/instancetype/apply imports context"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range violations(pkg{ImportPath: module + tc.path, Imports: tc.imports, Deps: tc.deps}) {
				got = append(got, strings.ReplaceAll(v, module, ""))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}
