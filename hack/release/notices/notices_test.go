// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package notices

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/hack/release/build"
)

// tree writes files with the given paths to a temporary directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func of(root, module, dir string, main bool) build.Package {
	p := build.Package{Dir: filepath.Join(root, module, dir)}
	p.Module = &struct {
		Path, Version, Dir string
		Main               bool
	}{module, "v1.0.0", filepath.Join(root, module), main}
	return p
}

func TestNotices_IncludeLicensesOfEveryModule(t *testing.T) {
	root := tree(t, map[string]string{
		"go/LICENSE": "Go's\n", "a/LICENSE": "MIT\r\nof a\r\n", "a/NOTICE.txt": "thanks\n", "a/x/x.go": "", "a/y/COPYING": "of what is not used\n", "a/license.go": "package a",
		"b/LICENCE": "MIT\nof a\n", "b/x/third/LICENSE-MIT": "of a third\n", "own/main.go": "", "own/LICENSE": "own\n",
	})
	packages := []build.Package{of(root, "own", "", true), of(root, "a", "x", false), of(root, "b", "x/third", false), {Dir: filepath.Join(root, "go")}}
	got, err := Of(packages, filepath.Join(root, "go"))
	line := strings.Repeat("=", 80)
	want := line + "\nGo\n\nGo's\n\n" + line + "\na v1.0.0\nb v1.0.0\n\nMIT\nof a\n\n" + line + "\na v1.0.0\n\nthanks\n\n" + line + "\nb v1.0.0\n\nof a third\n\n"
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestNotices_FailWithoutALicense(t *testing.T) {
	root := tree(t, map[string]string{"go/LICENSE": "Go's\n", "a/a.go": ""})
	if _, err := Of([]build.Package{of(root, "a", "", false)}, filepath.Join(root, "go")); err == nil || !strings.Contains(err.Error(), "a v1.0.0 has no license file") {
		t.Errorf("error %v", err)
	}
}

func TestNotices_ServerHasALicenseOfEachModule(t *testing.T) {
	m := build.Module{Dir: "../../.."}
	packages, err := m.Packages(t.Context(), build.Platform{OS: "linux", Arch: runtime.GOARCH}, "./cmd/slipway-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	root, err := m.GoRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := Of(packages, root)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"github.com/vmware/govmomi v", "go.etcd.io/etcd/server/v3 v", "k8s.io/apiserver v", "golang.org/x/sys v", "Copyright 2009 The Go Authors"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the notices do not contain %q", want)
		}
	}
}
