// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestOrphans_ListsOrphans(t *testing.T) {
	report := orphans.Report{VCenter: "vc.example.com", Orphans: []orphans.Orphan{
		{Namespace: "dev", Name: "web", UID: "u-1", UniqueID: "vm-7", VSphereName: "renamed \x1b]0;owned\x07"},
		{Namespace: "dev", Name: "db", UID: "u-2", UniqueID: "vm-8", CopyOf: "vm-6", VSphereName: "db"},
	}}
	s := &clitest.APIServer{Orphans: report}
	code, out, errOut := run(t, s, "orphans")
	want := "" +
		"NAMESPACE   NAME   UID   VCENTER          VM     COPY OF   VM NAME\n" +
		"dev         web    u-1   vc.example.com   vm-7   -         renamed \uFFFD]0;owned\uFFFD\n" +
		"dev         db     u-2   vc.example.com   vm-8   vm-6      db\n"
	if diff := cmp.Diff(want, out); code != 0 || diff != "" {
		t.Errorf("exit code %d, %s (-want +got):\n%s", code, errOut, diff)
	}
	_, out, _ = run(t, s, "orphans", "-o", "json")
	var got orphans.Report
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report, got); diff != "" {
		t.Errorf("as JSON (-want +got):\n%s", diff)
	}
	if _, out, _ = run(t, s, "orphans", "-o", "name"); out != "virtualmachine.vm.slipway.dev/web\nvirtualmachine.vm.slipway.dev/db\n" {
		t.Errorf("as names: %q", out)
	}
	if _, out, _ = run(t, &clitest.APIServer{Orphans: orphans.Report{VCenter: "vc.example.com"}}, "orphans"); out != "vCenter vc.example.com has no orphans.\n" {
		t.Errorf("without any: %q", out)
	}
	part := orphans.Report{VCenter: "a.example.com", Unknown: []orphans.UncoveredVCenter{{VCenter: "b.example.com", Why: "another replica has it"}}}
	code, out, errOut = run(t, &clitest.APIServer{Orphans: part}, "orphans")
	if code == 0 || out != "vCenter a.example.com has no orphans.\n" || !strings.Contains(errOut, "the orphans of vCenter b.example.com (another replica has it) are unknown: retry") {
		t.Errorf("of one of two vCenters: exit code %d, %q, %q", code, out, errOut)
	}
	if code, _, errOut = run(t, &clitest.APIServer{Absent: true}, "orphans"); code == 0 || !strings.Contains(errOut, "reading the report of orphans") {
		t.Errorf("without a server: exit code %d, %q", code, errOut)
	}
	if code, _, errOut = run(t, s, "orphans", "-o", "wide"); code == 0 || !strings.Contains(errOut, "wide") {
		t.Errorf("with another format: exit code %d, %q", code, errOut)
	}
}
