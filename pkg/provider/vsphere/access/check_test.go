// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
)

func TestMain(m *testing.M) { simulated.Main(m) }

// newSession returns an administrator session of a simulated vCenter.
func newSession(t *testing.T, ready vcenter.Ready) *session.Session {
	t.Helper()
	s, err := session.New(session.Options{
		URL: ready.URL, CAFile: ready.CAFile,
		Credentials: func(context.Context) (string, string, error) {
			return vcenter.DefaultUsername, vcenter.DefaultPassword, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestCheck_ReportsMissingPrivilegesWithTheirObjects(t *testing.T) {
	ready := simulated.Start(t)
	s := newSession(t, ready)
	check := func(o placement.Options) (*Report, string) {
		t.Helper()
		o.Session = s
		r, err := Check(t.Context(), s, placement.New(o))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		r.Print(&out)
		_, findings, _ := strings.Cut(out.String(), "\n") // The first line is the version.
		return r, findings
	}
	options := placement.Options{Folder: "/DC0/vm/slipway", Datastore: "LocalDS_0", Network: "VM Network"}
	if r, out := check(options); !r.OK() {
		t.Errorf("OK is false with all privileges:\n%s", out)
	}
	options.Networks = []string{"*", "DC0_DVPG0", "misspelt"}
	if r, out := check(options); r.OK() || !strings.Contains(out, "network /DC0/network/DC0_DVPG0: ok\nnetwork: vSphere has no network \"misspelt\"\n") {
		t.Errorf("allowed networks: OK = %v:\n%s", r.OK(), out)
	}
	options.Networks = nil
	withhold := func(path, ids string) {
		t.Helper()
		q := url.Values{"entity": {path}, "without": {ids}}
		simulated.Control(t, ready, http.MethodPut, "/permissions?"+q.Encode())
	}
	withhold("/DC0/vm/slipway", "VirtualMachine.Config.Memory,Folder.Create,VirtualMachine.Interact.ConsoleInteract")
	withhold("/DC0/datastore/LocalDS_0", "Datastore.AllocateSpace")
	r, out := check(options)
	want := `clock: differs from this machine's clock by 0s: ok
vCenter /: ok
folder /DC0/vm/slipway: missing privilege Folder.Create
folder /DC0/vm/slipway: missing privilege VirtualMachine.Config.Memory
resource pool /DC0/host/DC0_C0/Resources: ok
datastore /DC0/datastore/LocalDS_0: missing privilege Datastore.AllocateSpace
network /DC0/network/VM Network: ok
storage policies: ok, vCenter has 7
encryption: vCenter has no default key provider: storage policies that encrypt cannot be used
claims: ok, but each disk can be attached to one virtual machine only, in a slot that vCenter chooses: its API is older than 9.1
snapshots: ok
CD-ROM drives: ok
fast deploy: ok
fast deploy on vSAN: ok
fast deploy from subscribed libraries: ok
clones: ok
publishing: ok
consoles: folder /DC0/vm/slipway: missing privilege VirtualMachine.Interact.ConsoleInteract
screenshots: ok
`
	if diff := cmp.Diff(want, out); diff != "" || r.OK() {
		t.Errorf("report: OK = %v (-want +got):\n%s", r.OK(), diff)
	}
	if r, out = check(placement.Options{Folder: "/DC0/vm/elsewhere", Datastore: "LocalDS_0", Network: "none"}); r.OK() ||
		!strings.Contains(out, `folder: vSphere has no folder "/DC0/vm/elsewhere"`) || !strings.Contains(out, `network: vSphere has no network "none"`) {
		t.Errorf("missing objects: OK = %v:\n%s", r.OK(), out)
	}
}

func TestCheck_ReportsObjectsThatZonesMustSpecify(t *testing.T) {
	ready := simulated.Start(t, func(o *vcenter.Options) { o.Clusters = 2 })
	s := newSession(t, ready)
	check := func(o placement.Options) (*Report, string) {
		t.Helper()
		o.Session = s
		r, err := Check(t.Context(), s, placement.New(o))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		r.Print(&out)
		return r, out.String()
	}
	withhold := func(path, ids string) {
		t.Helper()
		q := url.Values{"entity": {path}, "without": {ids}}
		simulated.Control(t, ready, http.MethodPut, "/permissions?"+q.Encode())
	}
	r, out := check(placement.Options{})
	for _, want := range []string{
		"note: describe Zones: several resource pools were found: /DC0/host/DC0_C0/Resources, /DC0/host/DC0_C1/Resources\n",
		"note: describe Zones: several datastores were found: /DC0/datastore/DC0_C1_DS, /DC0/datastore/LocalDS_0, /DC0/datastore/LocalDS_1\n",
		"note: describe Zones: several networks were found: /DC0/network/DC0_DVPG0, /DC0/network/VM Network, /DC0/network/opaque-0, /DC0/network/segment-0, /DC0/network/segment-0-on-DVS0\n",
		"\ndatastore /DC0/datastore/LocalDS_1: ok\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
	if !r.OK() || strings.Contains(out, "specify one") {
		t.Errorf("OK = %v:\n%s", r.OK(), out)
	}
	withhold("/DC0/datastore/LocalDS_0", "Datastore.AllocateSpace")
	if r, out := check(placement.Options{}); !r.OK() || !strings.Contains(out, "\ndatastore /DC0/datastore/LocalDS_0: missing privilege Datastore.AllocateSpace, which is required only if it is used\n") {
		t.Errorf("without a privilege on one of several: OK = %v:\n%s", r.OK(), out)
	}
	withhold("/DC0/datastore/LocalDS_1", "Datastore.AllocateSpace")
	withhold("/DC0/datastore/DC0_C1_DS", "Datastore.AllocateSpace")
	if r, out := check(placement.Options{}); r.OK() {
		t.Errorf("without a privilege on all: OK = %v:\n%s", r.OK(), out)
	}
	if r, out := check(placement.Options{Datastore: "none"}); r.OK() || !strings.Contains(out, `datastore: vSphere has no datastore "none"`) {
		t.Errorf("with the name of no datastore: OK = %v:\n%s", r.OK(), out)
	}
}

// Missing privileges of optional features do not fail the check.
func TestCheck_ReportsMissingPrivilegesOfFeatures(t *testing.T) {
	ready := simulated.Start(t)
	s := newSession(t, ready)
	order := func(path string, values url.Values) {
		t.Helper()
		simulated.Control(t, ready, http.MethodPut, path+"?"+values.Encode())
	}
	features := func() string {
		t.Helper()
		r, err := Check(t.Context(), s, placement.New(placement.Options{Session: s, Folder: "/DC0/vm/slipway", Datastore: "LocalDS_0", Network: "VM Network"}))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		r.Print(&out)
		if !r.OK() {
			t.Errorf("the check fails:\n%s", out.String())
		}
		_, findings, _ := strings.Cut(out.String(), "network /DC0/network/VM Network: ok\n")
		return findings
	}
	order("/service", url.Values{"name": {"policies"}, "away": {"true"}})
	order("/service", url.Values{"name": {"volumes"}, "away": {"true"}})
	if got := features(); !strings.Contains(got, "storage policies: connecting to the storage policy service of vCenter") || !strings.Contains(got, "claims: querying the volume service of vCenter") ||
		strings.Count(got, "503") != 2 {
		t.Errorf("without the services:\n%s", got)
	}
	order("/service", url.Values{"name": {"policies"}, "away": {"false"}})
	order("/service", url.Values{"name": {"volumes"}, "away": {"false"}})

	order("/permissions", url.Values{"entity": {"/"}, "without": {"StorageProfile.View,Cns.Searchable,Cryptographer.ManageKeyServers"}})
	if got := features(); !strings.Contains(got, "encryption: vCenter has no default key provider") {
		t.Errorf("with one of the privileges to list key providers:\n%s", got)
	}
	order("/permissions", url.Values{"entity": {"/"}, "without": {"Cryptographer.ReadKeyServersInfo"}})
	order("/permissions", url.Values{"entity": {"/"}, "without": {"ContentLibrary.SyncLibraryItem,ContentLibrary.DeleteLibraryItem"}})
	order("/permissions", url.Values{"entity": {"/DC0/vm/slipway"}, "without": {"Cryptographer.Encrypt,VirtualMachine.Interact.SetCDMedia,VirtualMachine.Provisioning.Clone,VApp.Export"}})
	order("/permissions", url.Values{"entity": {"/DC0/datastore/LocalDS_0"}, "without": {"Datastore.FileManagement,Datastore.Config"}})
	want := `storage policies: vCenter /: missing privilege StorageProfile.View
encryption: vCenter /: missing privilege Cryptographer.ManageKeyServers or Cryptographer.ReadKeyServersInfo
encryption: folder /DC0/vm/slipway: missing privilege Cryptographer.Encrypt
claims: vCenter /: missing privilege Cns.Searchable
claims: datastore /DC0/datastore/LocalDS_0: missing privilege Datastore.FileManagement
snapshots: ok
CD-ROM drives: folder /DC0/vm/slipway: missing privilege VirtualMachine.Interact.SetCDMedia
fast deploy: datastore /DC0/datastore/LocalDS_0: missing privilege Datastore.FileManagement
fast deploy on vSAN: ok
fast deploy from subscribed libraries: vCenter /: missing privilege ContentLibrary.SyncLibraryItem
clones: folder /DC0/vm/slipway: missing privilege VirtualMachine.Provisioning.Clone
publishing: vCenter /: missing privilege ContentLibrary.DeleteLibraryItem
publishing: folder /DC0/vm/slipway: missing privilege VApp.Export
consoles: ok
screenshots: ok
`
	if diff := cmp.Diff(want, features()); diff != "" {
		t.Errorf("features (-want +got):\n%s", diff)
	}
	order("/datastores/toplevel", url.Values{"datastore": {"LocalDS_0"}, "allowed": {"false"}})
	if got := features(); !strings.Contains(got, "fast deploy on vSAN: datastore /DC0/datastore/LocalDS_0: missing privilege Datastore.Config\n") {
		t.Errorf("on a datastore without top-level directories:\n%s", got)
	}
}

func TestReport_IsNotOKIfVCenterIsTooOld(t *testing.T) {
	for version, old := range map[string]bool{"8.0.1.0": true, "7.0.3.0": true, "8.0.2.0": false, "9.1.0.0": false} {
		r := Report{APIVersion: version, TooOld: session.IsOlderVersion(version, MinAPIVersion)}
		var out strings.Builder
		r.Print(&out)
		if r.OK() == old || strings.Contains(out.String(), "must be at least "+MinAPIVersion) != old {
			t.Errorf("%s: OK = %v, report %s", version, r.OK(), out.String())
		}
	}
}

func TestReport_WarnsOfAClockDifferenceAboveAMinute(t *testing.T) {
	for skew, want := range map[time.Duration]string{
		time.Minute: "", 90 * time.Second: "warning: vCenter's clock is 1m30s ahead of this machine's clock: ",
		-10 * time.Minute: "warning: vCenter's clock is 10m0s behind this machine's clock: ",
	} {
		var out strings.Builder
		(&Report{Skew: skew}).Print(&out)
		if got := out.String(); strings.Contains(got, "warning: ") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s: report %q, want %q", skew, got, want)
		}
	}
}

func TestPrivileges_AreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/reference/privileges.md")
	if err != nil {
		t.Fatal(err)
	}
	section, optional, _ := strings.Cut(string(text), "\n## Optional features")
	rows := map[string]string{
		Root: "| vCenter, with", placement.WhatFolder: "| managed folder", placement.WhatPool: "| resource pool",
		placement.WhatDatastore: "| datastore", placement.WhatNetwork: "| each network",
	}
	for kind, ids := range Required {
		_, row, found := strings.Cut(section, rows[kind])
		row, _, _ = strings.Cut(row, "\n")
		for _, id := range ids {
			if !found || !strings.Contains(row, "`"+id+"`") {
				t.Errorf("%s: privilege %s is not in the table", kind, id)
			}
		}
	}
	for _, f := range Features {
		_, rows, found := strings.Cut(optional, "\n| "+f.Name+" |")
		row, _, _ := strings.Cut(rows, "\n")
		for kind, ids := range f.Privileges {
			for _, id := range strings.Split(strings.Join(ids, AlternativeSeparator), AlternativeSeparator) {
				if !found || !strings.Contains(row, "`"+id+"`") {
					t.Errorf("%s on the %s: privilege %s is not in the table of optional features", f.Name, kind, id)
				}
			}
		}
	}
	if !strings.Contains(section, "(API "+MinAPIVersion+")") {
		t.Errorf("version %s is not documented", MinAPIVersion)
	}
}
