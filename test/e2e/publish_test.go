// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

// The example selects namespaces by a label, which this one lacks at first.
func TestPublish_MakesAnItemOfAVMAndVMsOfTheItem(t *testing.T) {
	t.Parallel()
	u := admin(t)
	library := "shared-" + u.Namespace[len(u.Namespace)-5:] // such objects are cluster-scoped
	content, err := os.ReadFile("../../artifacts/examples/publish.yaml")
	if err != nil {
		t.Fatal(err)
	}
	item := "tool-" + u.Namespace[len(u.Namespace)-5:]
	example := strings.NewReplacer("  namespace: default\n", "", "name: shared\n", "name: "+library+"\n", "contentLibrary: shared", "contentLibrary: "+library,
		"item: tool-1", "item: "+item, `"tool-*"`, `"`+item+`"`).Replace(string(content))
	u.Put(example)
	defer u.Delete("contentlibrary/" + library)
	u.Wants("vmpub/tool", `.status.conditions[?(@.type=="TargetValid")].reason`, "NotAllowed")
	u.Label("namespace/"+u.Namespace, "images.example.com/publish=true")
	u.Meets("Complete", "vmpub/tool")
	u.Wants("vmpub/tool", ".status.imageName", item)
	u.Wants("cvmimage/"+item, `.status.contentVersion`, u.Get("vmpub/tool", ".status.contentVersion"))
	table := u.Kubectl("get", "vmpub", "-o", "wide")
	for _, want := range []string{"SOURCE", "LIBRARY", "ITEM", "COMPLETE", "IMAGE", "ATTEMPTS", item, "True"} {
		if !strings.Contains(table, want) {
			t.Errorf("kubectl get vmpub lacks %q:\n%s", want, table)
		}
	}
	u.Ready("vm/copy")
	u.Put(fmt.Sprintf(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: of-item}
spec:
  cpu: {sockets: 1}
  memory: {guest: 1Gi}
  image: {kind: ClusterVirtualMachineImage, name: %s}
`, item))
	u.Ready("vm/of-item")
	u.Wants("vm/tool", ".status.powerState", "PoweredOff")
	for _, name := range []string{"copy", "of-item"} {
		for _, path := range []string{".status.instanceUUID", ".status.biosUUID", ".status.network.interfaces[0].macAddress"} {
			if got := u.Get("vm/"+name, path); got == "" || got == u.Get("vm/tool", path) {
				t.Errorf("%s of %s is %q, like that of its source", path, name, got)
			}
		}
	}
	u.Delete("vm/of-item") // so that its image is deleted with the library
	u.part("a clone waits for its source", func(t *testing.T, u user) { u.cloneWaits() })
	u.part("again, and by no other user", func(t *testing.T, u user) { u.publishesAgain(t) })
}

// cloneWaits checks that a clone waits until its source is powered off.
func (u user) cloneWaits() {
	u.Put(testenv.Catalogue + testenv.VM("source") + `
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: clone}
spec:
  instancetype: {inferFromVolume: image}
  image: {kind: VirtualMachine, name: source}
`)
	u.Ready("vm/source")
	u.Wants("vm/clone", `.status.conditions[?(@.type=="ImageReady")].reason`, "NotReady")
	u.Virtctl("stop", "source")
	u.Ready("vm/clone")
	u.Wants("vm/clone", ".status.instancetypeRef.name", "small")
	u.Denied(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: self}
spec:
  cpu: {sockets: 1}
  memory: {guest: 1Gi}
  image: {kind: VirtualMachine, name: self}
`, "spec.image.name", "must not be the virtual machine itself")
	u.Virtctl("start", "source")
	u.Ready("vm/source")
	u.Wants("vm/clone", ".status.powerState", "PoweredOn")
}

// wasPublished returns the last line of virtctl publish.
var wasPublished = regexp.MustCompile(`item "([^"]+)", version ([0-9]+): ClusterVirtualMachineImage/(\S+)`)

// publishesAgain publishes from the namespace that owns the item.
func (u user) publishesAgain(t *testing.T) {
	item := u.SharedLibrary()
	defer u.Delete("contentlibrary/" + item)
	u.Virtctl("stop", "source", "--mode=Hard", "--wait")
	publish := func(args ...string) string {
		t.Helper()
		out := u.Virtctl(append([]string{"publish", "source", "--library", item, "--item", item, "--wait", "--timeout", "3m"}, args...)...)
		m := wasPublished.FindStringSubmatch(out)
		if m == nil || m[1] != item {
			t.Fatalf("virtctl publish --wait does not report the created image:\n%s", out)
		}
		if got := u.Get("cvmimage/"+m[3], ".status.contentVersion"); got != m[2] {
			t.Errorf("the image is of version %q, and virtctl reports %s", got, m[2])
		}
		return m[2]
	}
	first := publish()
	second := publish("--description", "better")
	if second == first {
		t.Errorf("both are version %s", first)
	}
	// A request with a TTL is deleted, and its item is kept.
	u.Virtctl("publish", "source", "--library", item, "--item", item, "--ttl", "1s")
	testenv.Eventually(t, testenv.Long, "a third version exists, and its request is deleted", func() error {
		left, version := strings.Fields(u.Get("vmpub", `.items[?(@.spec.ttlSecondsAfterFinished==1)].metadata.name`)), u.Get("cvmimage/"+item, ".status.contentVersion")
		if len(left) != 0 || version == second {
			return fmt.Errorf("there are %q, and version %s", left, version)
		}
		return nil
	})

	other := admin(t)
	other.Put(testenv.Catalogue + testenv.VM("source", "powerState: PoweredOff"))
	other.Meets("Created", "vm/source")
	other.Virtctl("publish", "source", "--library", item, "--item", item)
	other.Wants("vmpub", `.items[0].status.conditions[?(@.type=="TargetValid")].reason`, "NameTaken")
	if got := other.Get("vmpub", `.items[0].status.conditions[?(@.type=="TargetValid")].message`); !strings.Contains(got, item) || !strings.Contains(got, other.Namespace) {
		t.Errorf("the message names neither item nor namespace: %s", got)
	}
}
