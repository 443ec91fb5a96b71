// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

// awaitHeld waits until a call to vCenter is held.
func awaitHeld(t *testing.T, method string) {
	t.Helper()
	testenv.Eventually(t, testenv.Long, method+" waits", func() error {
		answer := testenv.Order(t, http.MethodGet, "/hold")
		var all map[string]int
		if err := json.Unmarshal(answer, &all); err != nil {
			return err
		}
		if all[method] == 0 {
			return fmt.Errorf("waiting are %v", all)
		}
		return nil
	})
}

// killedAt starts an operation and kills the server when a call is held: either vCenter has not received the call, or
// it has executed it and the response is lost. It returns when the next server process is ready.
func (u user) killedAt(step string, begin func()) {
	u.T.Helper()
	testenv.Order(u.T, http.MethodPut, "/hold?method="+step)
	u.T.Cleanup(func() { testenv.Order(u.T, http.MethodDelete, "/hold?method="+step) })
	begin()
	awaitHeld(u.T, step)
	if err := testenv.Of(u.T).KillSlipway(); err != nil {
		u.T.Fatal(err)
	}
	testenv.Order(u.T, http.MethodDelete, "/hold?method="+step)
	u.RestartSlipway()
}

func TestKilledServer_PublishesOnce(t *testing.T) {
	u := admin(t)
	item := u.SharedLibrary()
	defer u.Kubectl("delete", "contentlibrary", item)
	u.Apply(testenv.Catalogue + testenv.VM("source", "powerState: PoweredOff"))
	u.Kubectl("wait", "--for=condition=Created", "vm/source", "--timeout=90s")
	versions := map[string]bool{}
	for _, ms := range []string{"2000", "2000"} { // a new item, and a new version
		testenv.Order(t, http.MethodPut, "/captures?ms="+ms)
		t.Cleanup(func() { testenv.Order(t, http.MethodPut, "/captures") })
		request := fmt.Sprintf("r%d", len(versions))
		u.Apply(fmt.Sprintf(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachinePublishRequest
metadata: {name: %s}
spec:
  source: {name: source}
  target: {contentLibrary: %s, item: %[2]s}
`, request, item))
		u.Wants("vmpub/"+request, `.status.conditions[?(@.type=="Uploaded")].reason`, "Publishing")
		u.KillSlipway()
		u.Kubectl("wait", "--for=condition=Complete", "vmpub/"+request, "--timeout=180s")
		versions[u.Get("vmpub/"+request, ".status.contentVersion")] = true
	}
	if len(versions) != 2 {
		t.Errorf("versions %v, want one each", versions)
	}
	// If there were several items with the name, the image could not be resolved.
	u.Wants("cvmimage/"+item, `.status.conditions[?(@.type=="Ready")].status`, "True")
}

func TestKilledServer_ClonesOnce(t *testing.T) {
	u := admin(t)
	u.Apply(testenv.Catalogue + testenv.VM("source", "powerState: PoweredOff"))
	u.Kubectl("wait", "--for=condition=Created", "vm/source", "--timeout=90s")
	steps := []string{"CloneVM_Task", "answer.CloneVM_Task"}
	for i, step := range steps {
		name := fmt.Sprintf("clone-%d", i)
		u.killedAt(step, func() {
			u.Apply(fmt.Sprintf(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: %s}
spec:
  cpu: {sockets: 1}
  memory: {guest: 1Gi}
  image: {kind: VirtualMachine, name: source}
`, name))
		})
		u.Kubectl("wait", "--for=condition=Ready", "vm/"+name, "--timeout=180s")
	}
	if vms := testenv.Inventory(t, u.Namespace); len(vms) != len(steps)+1 {
		t.Errorf("vCenter has %d VMs, want the source and a clone for each kill", len(vms))
	}
	u.Kubectl("delete", "vm", "--all", "--timeout=90s")
	testenv.Gone(t, u.Namespace)
}

// For every time of the kill the disk is then at one VM, and the record in the claim refers to that VM.
func TestKilledServer_AttachesADiskToOneVM(t *testing.T) {
	for name, held := range map[string]string{"before": "CnsAttachVolume", "after": "answer.CnsAttachVolume"} {
		t.Run(name, func(t *testing.T) {
			u := admin(t)
			c := testenv.NewClaim(u.User, "data")
			hold := "/hold?method=" + held
			testenv.Order(t, http.MethodPut, hold)
			defer testenv.Order(t, http.MethodDelete, hold)
			u.Apply(testenv.Catalogue + testenv.VM("web", testenv.WithClaim("data", "data")))
			awaitHeld(t, held)
			if err := testenv.Of(t).KillSlipway(); err != nil {
				t.Fatal(err)
			}
			if name == "after" {
				c.Lives("web")
			}
			testenv.Order(t, http.MethodDelete, hold)
			u.RestartSlipway()
			u.Kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
			c.Lives("web")
			u.Wants("vm/web", testenv.VolumeStatus("data", "attached"), "true")
			u.Kubectl("delete", "vm/web", "--timeout=90s")
			c.Lives()
			c.Free()
		})
	}
}

func TestVSphereEvents_AreRecordedOnce(t *testing.T) {
	u := admin(t)
	u.Apply(testenv.Catalogue)
	u.Apply(testenv.VM("moved"))
	u.Kubectl("wait", "--for=condition=Ready", "vm/moved", "--timeout=90s")
	q := url.Values{"vm": {u.Get("vm/moved", ".status.uniqueID")}, "kind": {"DrsVmMigratedEvent"}}
	testenv.Order(t, http.MethodPost, "/vm/event?"+q.Encode())
	told := func() string {
		return u.Kubectl("get", "events", "--field-selector=reason=MigratedByDRS,involvedObject.name=moved", "-o", "jsonpath={.items[*].message}")
	}
	const want = "DRS moved the virtual machine from host esx-before to host "
	testenv.Eventually(t, testenv.Long, "the move is an event", func() error {
		if got := told(); !strings.HasPrefix(got, want) {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
	u.KillSlipway()
	// New events after the restart are sent after the repeated ones.
	q.Set("kind", "VmDasBeingResetEvent")
	testenv.Order(t, http.MethodPost, "/vm/event?"+q.Encode())
	testenv.Eventually(t, testenv.Long, "an event after a restart is recorded", func() error {
		if got := u.Kubectl("get", "events", "--field-selector=reason=ResetByHA,involvedObject.name=moved", "-o", "name"); got == "" {
			return fmt.Errorf("it does not exist")
		}
		return nil
	})
	if got := told(); strings.Count(got, want) != 1 {
		t.Errorf("the events are %q, want the move once", got)
	}
}
