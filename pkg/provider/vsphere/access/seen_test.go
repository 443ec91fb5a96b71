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

func TestDatastoresAndLibrariesThatTheAccountSeesAreListedWithWhatItMayUse(t *testing.T) {
	ready := simulated.Start(t)
	q := url.Values{"entity": {"/DC0/datastore/LocalDS_0"}, "without": {"Datastore.AllocateSpace"}}
	simulated.Control(t, ready, http.MethodPut, "/permissions?"+q.Encode())
	s := newSession(t, ready)
	seen := See(t.Context(), s)
	var out strings.Builder
	seen.Print(&out)
	all := len(seen.Datastores)
	if all < 2 || !strings.HasPrefix(out.String(), fmt.Sprintf("datastores that the account sees: %d, and %d that it can put virtual machines on\n", all, all-1)) {
		t.Errorf("%d datastores:\n%s", all, out.String())
	}
	for _, want := range []string{
		`(?m)^  LocalDS_0: [0-9.]+ GiB of [0-9.]+ GiB are free, missing privilege Datastore.AllocateSpace$`,
		`(?m)^  LocalDS_1: [0-9.]+ GiB of [0-9.]+ GiB are free, can be used$`,
		`(?m)^content libraries that the account sees: [1-9]`, `(?m)^  slipway: [1-9][0-9]* items, local$`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no line is as %s:\n%s", want, out.String())
		}
	}
	if last := seen.Datastores[all-1]; last.Name != "LocalDS_0" {
		t.Errorf("the last one is %s, want the one that cannot be used", last.Name)
	}
}

func TestWhatIsSeenIsPrintedInABoundedNumberOfLines(t *testing.T) {
	seen := Seen{AllLibraries: 40, Libraries: []Library{{Name: "golden", Type: "SUBSCRIBED", Items: 3}, {Name: "id-2", Err: errors.New("reading it: 403")}}}
	for i := range 12 {
		seen.Datastores = append(seen.Datastores, Datastore{Name: fmt.Sprintf("ds-%02d", i), Free: 1 << 29, Capacity: 1 << 30, Accessible: i < 9})
	}
	var out strings.Builder
	seen.Print(&out)
	want := "datastores that the account sees: 12, and 9 that it can put virtual machines on\n"
	for i := range 9 {
		want += fmt.Sprintf("  ds-%02d: 0.5 GiB of 1.0 GiB are free, can be used\n", i)
	}
	want += `  ds-09: 0.5 GiB of 1.0 GiB are free, no host reaches it
  and 2 more
content libraries that the account sees: 40
  golden: 3 items, subscribed
  id-2: reading it: 403
  and 30 more
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
	(&Seen{DatastoresErr: errors.New("listing the datastores: away"), LibrariesErr: errors.New("listing the content libraries: away")}).Print(&out)
	if want := "datastores: listing the datastores: away\ncontent libraries: listing the content libraries: away\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// Without a session nobody can tell what the account lacks.
func TestDatastoresAreNotCalledUsableWithoutASession(t *testing.T) {
	at, err := url.Parse(simulated.Start(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := vim25.NewClient(t.Context(), soap.NewClient(at, true))
	if err != nil {
		t.Fatal(err)
	}
	if missing, err := lackedOn(t.Context(), c, []mo.Datastore{{}}); err == nil || !strings.Contains(err.Error(), "there is none") {
		t.Errorf("missing %v, error %v; want that there is no session", missing, err)
	}
}
