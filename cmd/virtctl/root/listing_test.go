// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

const devSnapshots = clitest.APIPrefix + "dev/virtualmachinesnapshots"

func TestListings_HaveFormatsForPrograms(t *testing.T) {
	s := &clitest.APIServer{
		VMs:           loadedVMs(),
		Images:        []vmv1alpha1.VirtualMachineImage{{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "own"}}},
		ClusterImages: []vmv1alpha1.ClusterVirtualMachineImage{{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}},
		Answers: map[string]any{
			devSnapshots:                          vmv1alpha1.VirtualMachineSnapshotList{Items: []vmv1alpha1.VirtualMachineSnapshot{{ObjectMeta: metav1.ObjectMeta{Name: "one"}}}},
			"/apis/vm.slipway.dev/v1alpha1/zones": vmv1alpha1.ZoneList{Items: []vmv1alpha1.Zone{{ObjectMeta: metav1.ObjectMeta{Name: "east"}}}},
		},
	}
	s.VMs[0].Status.Snapshots = []vmv1alpha1.VirtualMachineSnapshotNode{{UniqueID: "snapshot-1", Name: "By Hand"}, {UniqueID: "snapshot-2", Name: "one", SnapshotName: "one"}}
	for args, tc := range map[string]struct {
		names string
		first string // in the first item of the JSON
	}{
		"image list":         {"virtualmachineimage.vm.slipway.dev/own clustervirtualmachineimage.vm.slipway.dev/shared", `"kind":"VirtualMachineImage"`},
		"snapshot list":      {"virtualmachinesnapshot.vm.slipway.dev/one", `"kind":"VirtualMachineSnapshot"`},
		"snapshot list web":  {"virtualmachinesnapshot.vm.slipway.dev/one", `"name":"By Hand"`},
		"top vm web":         {"virtualmachine.vm.slipway.dev/web", `"memoryBytes":4294967296,"name":"web","namespace":"dev","powerState":"PoweredOn","provisionedBytes":17179869184`},
		"top vm -l app=none": {"", ""},
		"top zone":           {"zone.vm.slipway.dev/east", `"name":"east"`},
	} {
		t.Run(args, func(t *testing.T) {
			code, out, errOut := run(t, s, append(strings.Fields(args), "-o", "name")...)
			if got := strings.Join(strings.Fields(out), " "); code != 0 || got != tc.names {
				t.Errorf("as names: exit code %d, %s, %q, want %q", code, errOut, got, tc.names)
			}
			code, out, errOut = run(t, s, append(strings.Fields(args), "-o", "json")...)
			var list struct {
				Kind  string
				Items []any
			}
			if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil || list.Kind != "List" || list.Items == nil {
				t.Fatalf("as JSON: exit code %d, %s, %v:\n%s", code, errOut, err, out)
			}
			var first []byte
			if len(list.Items) > 0 {
				first, _ = json.Marshal(list.Items[0])
			}
			if !strings.Contains(string(first), tc.first) || tc.first == "" && first != nil {
				t.Errorf("the first item %s has no %s", first, tc.first)
			}
			if code, out, _ = run(t, s, append(strings.Fields(args), "-o", "yaml")...); code != 0 || !strings.Contains(out, "\nkind: List\n") {
				t.Errorf("as YAML: exit code %d:\n%s", code, out)
			}
			if code, out, errOut = run(t, s, append(strings.Fields(args), "-o", "wide")...); code != 1 || out != "" || !strings.Contains(errOut, "use one of table, json, yaml, name") {
				t.Errorf("in an unknown format: exit code %d, %q, %q", code, out, errOut)
			}
		})
	}
}

func TestEvents_HasFormatsForPrograms(t *testing.T) {
	s := clitest.WithEvents(clitest.EventOf("VirtualMachine", "web", "Created", "made", time.Minute))
	code, out, errOut := run(t, s, "events", "web", "-o", "json")
	if code != 0 || !strings.Contains(out, `"reason": "Created"`) || !strings.Contains(out, `"kind": "Event"`) {
		t.Errorf("exit code %d, %s:\n%s", code, errOut, out)
	}
	if code, _, errOut = run(t, s, "events", "web", "-o", "json", "--watch"); code != 1 || !strings.Contains(errOut, "--watch and --output are mutually exclusive") {
		t.Errorf("with --watch: exit code %d, %q", code, errOut)
	}
}

// lateDeletion serves a snapshot until a time.
type lateDeletion struct {
	*snapshotServer
	until time.Time
}

func (s lateDeletion) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if time.Now().After(s.until) {
		delete(s.Answers, devSnapshots+"/old")
	}
	s.snapshotServer.ServeHTTP(w, r)
}

func TestSnapshot_DeleteNamesWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Name: "old"}}
		old.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		s := lateDeletion{&snapshotServer{APIServer: clitest.APIServer{Answers: map[string]any{devSnapshots + "/old": old}}}, time.Now().Add(10 * time.Second)}
		code, out, errOut := clitest.RunInBubble(t.Context(), t, s, "snapshot", "delete", "old", "--wait")
		want := []any{0, "virtualmachinesnapshot dev/old will be deleted\nvirtualmachinesnapshot dev/old is deleted\n", "virtualmachinesnapshot dev/old is being deleted\n"}
		if diff := cmp.Diff(want, []any{code, out, errOut}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
