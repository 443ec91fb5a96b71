// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/access"
	"github.com/slipway-dev/slipway/test/clitest"
	"github.com/slipway-dev/slipway/test/vcenter"
)

func TestCheckRecord_WritesAFileOnce(t *testing.T) {
	ready := clitest.UseVCenter(t).Ready()
	password, file := filepath.Join(t.TempDir(), "password"), filepath.Join(t.TempDir(), "recording.json")
	if err := os.WriteFile(password, []byte(vcenter.DefaultPassword), 0o600); err != nil {
		t.Fatal(err)
	}
	c := checkedCluster{aggregation: true}
	check := func() (int, string, string) {
		return c.check(t, "--vcenter-url="+strings.TrimSuffix(ready.URL, "/sdk"), "--vcenter-username="+vcenter.DefaultUsername, "--vcenter-password-file="+password,
			"--vcenter-ca-file="+ready.CAFile, "--server-arg=--vcenter-datastore=LocalDS_0", "--server-arg=--vcenter-network=VM Network", "--record="+file)
	}
	if code, out, errOut := check(); code != 0 || !strings.Contains(out, "are recorded in "+file+": review the file") {
		t.Fatalf("exit %d: %s\n%s", code, errOut, out)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if r, err := access.ReadRecording(f); err != nil || r.APIVersion == "" || len(r.Properties) == 0 {
		t.Errorf("recording %+v: %v", r, err)
	}
	if code, _, errOut := check(); code != 1 || !strings.Contains(errOut, "--record: open "+file+": file exists") {
		t.Errorf("over a file that exists: exit %d: %s", code, errOut)
	}
}
