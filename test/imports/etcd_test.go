// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// etcdAPI are the packages of etcd with a compatibility promise, and the other packages that the embedded member
// needs.
var etcdAPI = []string{
	"go.etcd.io/bbolt", // to read a database that no etcd has open
	"go.etcd.io/etcd/api/v3/", "go.etcd.io/etcd/client/v3/", "go.etcd.io/etcd/client/pkg/v3/",
	"go.etcd.io/etcd/etcdutl/v3/snapshot", "go.etcd.io/etcd/server/v3/embed", "go.etcd.io/etcd/server/v3/etcdserver/api/v3client",
}

func allowedOfEtcd(path string) bool {
	return !strings.HasPrefix(path, "go.etcd.io/") || slices.ContainsFunc(etcdAPI, func(allowed string) bool {
		return path == strings.TrimSuffix(allowed, "/") || strings.HasSuffix(allowed, "/") && strings.HasPrefix(path, allowed)
	})
}

func TestEtcd_IsUsedByItsPublicAPI(t *testing.T) {
	cmd := exec.Command("go", "list", "-e", "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}
{{end}}{{range .TestImports}}{{$p}} {{.}}
{{end}}{{range .XTestImports}}{{$p}} {{.}}
{{end}}`, "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(out)) {
		from, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(path, "go.etcd.io/") {
			found++
		}
		if !allowedOfEtcd(path) {
			t.Errorf("%s imports %s, which is not a public API of etcd", from, path)
		}
	}
	if found == 0 {
		t.Error("no package imports etcd")
	}
	for _, internal := range []string{"go.etcd.io/etcd/server/v3/storage/wal", "go.etcd.io/etcd/server/v3/etcdserver", "go.etcd.io/etcd/server/v3/embed/x"} {
		if allowedOfEtcd(internal) {
			t.Errorf("%s is allowed", internal)
		}
	}
}
