// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/slipway-dev/slipway/test/simulated"
)

func TestListVisible_ListsDatastoresAndLibraries(t *testing.T) {
	ready := simulated.Start(t)
	q := url.Values{"entity": {"/DC0/datastore/LocalDS_0"}, "without": {"Datastore.AllocateSpace"}}
	simulated.Control(t, ready, http.MethodPut, "/permissions?"+q.Encode())
	s := newSession(t, ready)
	seen := ListVisible(t.Context(), s)
	var out strings.Builder
	seen.Print(&out)
	all := len(seen.Datastores)
	if all < 2 || !strings.Contains(out.String(), fmt.Sprintf("datastores visible to the account: %d (%d usable for virtual machines)\n", all, all-1)) {
		t.Errorf("%d datastores:\n%s", all, out.String())
	}
	for _, want := range []string{
		`(?m)^clusters and stand-alone hosts visible to the account: 1 `,
		`(?m)^  DC0_C0: DRS is enabled, hosts: 3 with VMware ESXi [0-9.]+$`,
		`(?m)^  LocalDS_0: [0-9.]+ GiB of [0-9.]+ GiB free, missing privilege Datastore.AllocateSpace$`,
		`(?m)^  LocalDS_1: [0-9.]+ GiB of [0-9.]+ GiB free, usable$`,
		`(?m)^content libraries visible to the account: [1-9]`, `(?m)^  slipway: [1-9][0-9]* items, local$`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no line matches %s:\n%s", want, out.String())
		}
	}
	if last := seen.Datastores[all-1]; last.Name != "LocalDS_0" {
		t.Errorf("the last datastore is %s, want the unusable one", last.Name)
	}
}

func TestVisible_PrintsALimitedNumberOfLines(t *testing.T) {
	seen := Visible{AllLibraries: 40, Libraries: []Library{{Name: "golden", Type: "SUBSCRIBED", Items: 3}, {Name: "id-2", Err: errors.New("reading the library: 403")}}}
	seen.Clusters = []Cluster{{Name: "a", Hosts: map[string]int{"ESXi 8.0.3": 2, "ESXi 7.0.3": 1}}, {Name: "b", DRS: true, Automation: "manual"}, {Name: "c", Standalone: true, Hosts: map[string]int{"unknown version": 1}}}
	for i := range 12 {
		seen.Datastores = append(seen.Datastores, Datastore{Name: fmt.Sprintf("ds-%02d", i), Free: 1 << 29, Capacity: 1 << 30, Accessible: i < 9})
	}
	var out strings.Builder
	seen.Print(&out)
	want := "clusters and stand-alone hosts visible to the account: 3 (minimum version of hosts: any that this vCenter supports)\n" +
		"  a: DRS is not enabled, hosts: 1 with ESXi 7.0.3, 2 with ESXi 8.0.3\n  b: DRS is enabled (manual), hosts: none\n  c: stand-alone host, hosts: 1 with unknown version\ndatastores visible to the account: 12 (9 usable for virtual machines)\n"
	for i := range 9 {
		want += fmt.Sprintf("  ds-%02d: 0.5 GiB of 1.0 GiB free, usable\n", i)
	}
	want += `  ds-09: 0.5 GiB of 1.0 GiB free, not accessible from any host
  and 2 more
content libraries visible to the account: 40
  golden: 3 items, subscribed
  id-2: reading the library: 403
  and 30 more
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
	(&Visible{ClustersErr: errors.New("listing the clusters: unreachable"), DatastoresErr: errors.New("listing the datastores: unreachable"), LibrariesErr: errors.New("listing the content libraries: unreachable")}).Print(&out)
	if want := "clusters: listing the clusters: unreachable\ndatastores: listing the datastores: unreachable\ncontent libraries: listing the content libraries: unreachable\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// Without a session the missing privileges are unknown.
func TestMissingOn_FailsWithoutASession(t *testing.T) {
	at, err := url.Parse(simulated.Start(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := vim25.NewClient(t.Context(), soap.NewClient(at, true))
	if err != nil {
		t.Fatal(err)
	}
	if missing, err := missingOn(t.Context(), c, []mo.Datastore{{}}); err == nil || !strings.Contains(err.Error(), "no session") {
		t.Errorf("missing %v, error %v; want an error: no session", missing, err)
	}
}
