// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// shares makes a ContentLibrary in which all namespaces may publish, with images of one item, and returns the
// name of both.
func (u user) shares() string {
	u.t.Helper()
	name := "pub-" + u.namespace[len(u.namespace)-5:] // as such objects are of no namespace
	u.apply(fmt.Sprintf(`
apiVersion: vm.slipway.dev/v1alpha1
kind: ContentLibrary
metadata: {name: %s}
spec:
  library: slipway
  include: [%[1]s]
  publishFrom: {}
`, name))
	return name
}

// wasPublished is what virtctl says at the end.
var wasPublished = regexp.MustCompile(`item "([^"]+)", version ([0-9]+): ClusterVirtualMachineImage/(\S+)`)

func TestAVMIsPublishedAgainAndByNobodyElse(t *testing.T) {
	t.Parallel()
	u := admin(t)
	item := u.shares()
	defer u.kubectl("delete", "contentlibrary", item)
	u.apply(catalogue + vmManifest("source", "powerState: PoweredOff"))
	u.kubectl("wait", "--for=condition=Created", "vm/source", "--timeout=90s")
	publish := func(args ...string) string {
		t.Helper()
		out := u.virtctl(append([]string{"publish", "source", "--library", item, "--item", item, "--wait", "--timeout", "3m"}, args...)...)
		m := wasPublished.FindStringSubmatch(out)
		if m == nil || m[1] != item {
			t.Fatalf("virtctl publish --wait does not say what was made:\n%s", out)
		}
		if got := u.get("cvmimage/"+m[3], ".status.contentVersion"); got != m[2] {
			t.Errorf("the image is of version %q, and virtctl says %s", got, m[2])
		}
		return m[2]
	}
	first := publish()
	second := publish("--description", "better")
	if second == first {
		t.Errorf("both are version %s", first)
	}
	// A request with a TTL goes, and its item stays.
	u.virtctl("publish", "source", "--library", item, "--item", item, "--ttl", "1s")
	eventually(t, long, "a third version is there, and its request is not", func() error {
		left, version := strings.Fields(u.kubectl("get", "vmpub", "-o", "name")), u.get("cvmimage/"+item, ".status.contentVersion")
		if len(left) != 2 || version == second {
			return errorf("there are %q, and version %s", left, version)
		}
		return nil
	})

	other := admin(t)
	other.apply(catalogue + vmManifest("source", "powerState: PoweredOff"))
	other.kubectl("wait", "--for=condition=Created", "vm/source", "--timeout=90s")
	other.virtctl("publish", "source", "--library", item, "--item", item)
	other.wants("vmpub", `.items[0].status.conditions[?(@.type=="TargetValid")].reason`, "NameTaken")
	if got := other.get("vmpub", `.items[0].status.conditions[?(@.type=="TargetValid")].message`); !strings.Contains(got, item) || !strings.Contains(got, other.namespace) {
		t.Errorf("the message names neither item nor namespace: %s", got)
	}
}

// awaitHeld waits until a call to vCenter waits.
func awaitHeld(t *testing.T, method string) {
	t.Helper()
	eventually(t, long, method+" waits", func() error {
		answer, err := vsphereclient.Order(t.Context(), environment(t).VCenter().ControlURL, http.MethodGet, "/hold")
		if err != nil {
			return err
		}
		var all map[string]int
		if err := json.Unmarshal(answer, &all); err != nil {
			return err
		}
		if all[method] == 0 {
			return errorf("waiting are %v", all)
		}
		return nil
	})
}

// killedAt begins something, and kills the server when it waits at a step: vCenter has not got
// the call, or has carried it out and its answer is lost. It returns when another one serves.
func (u user) killedAt(step string, begin func()) {
	u.t.Helper()
	orderVCenter(u.t, http.MethodPut, "/hold?method="+step)
	u.t.Cleanup(func() { orderVCenter(u.t, http.MethodDelete, "/hold?method="+step) })
	begin()
	awaitHeld(u.t, step)
	if err := environment(u.t).KillSlipway(); err != nil {
		u.t.Fatal(err)
	}
	orderVCenter(u.t, http.MethodDelete, "/hold?method="+step)
	u.restartSlipway()
}

func TestAServerThatIsKilledWhilePublishingPublishesOnce(t *testing.T) {
	u := admin(t)
	item := u.shares()
	defer u.kubectl("delete", "contentlibrary", item)
	u.apply(catalogue + vmManifest("source", "powerState: PoweredOff"))
	u.kubectl("wait", "--for=condition=Created", "vm/source", "--timeout=90s")
	versions := map[string]bool{}
	for _, ms := range []string{"2000", "2000"} { // a new item, and a new version
		orderVCenter(t, http.MethodPut, "/captures?ms="+ms)
		t.Cleanup(func() { orderVCenter(t, http.MethodPut, "/captures") })
		request := fmt.Sprintf("r%d", len(versions))
		u.apply(fmt.Sprintf(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachinePublishRequest
metadata: {name: %s}
spec:
  source: {name: source}
  target: {contentLibrary: %s, item: %[2]s}
`, request, item))
		u.wants("vmpub/"+request, `.status.conditions[?(@.type=="Uploaded")].reason`, "Publishing")
		u.killSlipway()
		u.kubectl("wait", "--for=condition=Complete", "vmpub/"+request, "--timeout=180s")
		versions[u.get("vmpub/"+request, ".status.contentVersion")] = true
	}
	if len(versions) != 2 {
		t.Errorf("versions %v, want one each", versions)
	}
	// Of several items of the name none could be an image.
	u.wants("cvmimage/"+item, `.status.conditions[?(@.type=="Ready")].status`, "True")
}

func TestAServerThatIsKilledWhileCloningClonesOnce(t *testing.T) {
	u := admin(t)
	u.apply(catalogue + vmManifest("source", "powerState: PoweredOff"))
	u.kubectl("wait", "--for=condition=Created", "vm/source", "--timeout=90s")
	steps := []string{"CloneVM_Task", "answer.CloneVM_Task"}
	for i, step := range steps {
		name := fmt.Sprintf("clone-%d", i)
		u.killedAt(step, func() {
			u.apply(fmt.Sprintf(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: %s}
spec:
  cpu: {sockets: 1}
  memory: {guest: 1Gi}
  image: {kind: VirtualMachine, name: source}
`, name))
		})
		u.kubectl("wait", "--for=condition=Ready", "vm/"+name, "--timeout=180s")
	}
	if vms := inventory(t, u.namespace); len(vms) != len(steps)+1 {
		t.Errorf("vCenter has %d VMs, want the source and a clone for each kill", len(vms))
	}
	u.kubectl("delete", "vm", "--all", "--timeout=90s")
	gone(t, u.namespace)
}
