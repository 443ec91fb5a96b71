// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The example names a library for namespaces with a label, which this one lacks at first.
func TestAVMIsPublishedAndVMsAreMadeOfTheItem(t *testing.T) {
	t.Parallel()
	u := admin(t)
	library := "shared-" + u.namespace // as such objects are of no namespace
	content, err := os.ReadFile("../../artifacts/examples/publish.yaml")
	if err != nil {
		t.Fatal(err)
	}
	item := "tool-" + u.namespace
	example := strings.NewReplacer("  namespace: default\n", "", "name: shared\n", "name: "+library+"\n", "contentLibrary: shared", "contentLibrary: "+library,
		"item: tool-1", "item: "+item, `"tool-*"`, `"`+item+`"`).Replace(string(content))
	u.apply(example)
	defer u.kubectl("delete", "contentlibrary", library, "--ignore-not-found")
	u.wants("vmpub/tool", `.status.conditions[?(@.type=="TargetValid")].reason`, "NotAllowed")
	u.kubectl("label", "namespace", u.namespace, "images.example.com/publish=true")
	u.kubectl("wait", "--for=condition=Complete", "vmpub/tool", "--timeout=180s")
	u.wants("vmpub/tool", ".status.imageName", item)
	u.wants("cvmimage/"+item, `.status.contentVersion`, u.get("vmpub/tool", ".status.contentVersion"))
	table := u.kubectl("get", "vmpub", "-o", "wide")
	for _, want := range []string{"SOURCE", "LIBRARY", "ITEM", "COMPLETE", "IMAGE", "ATTEMPTS", item, "True"} {
		if !strings.Contains(table, want) {
			t.Errorf("kubectl get vmpub lacks %q:\n%s", want, table)
		}
	}
	u.kubectl("wait", "--for=condition=Ready", "vm/copy", "--timeout=90s")
	u.apply(fmt.Sprintf(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: of-item}
spec:
  cpu: {sockets: 1}
  memory: {guest: 1Gi}
  image: {kind: ClusterVirtualMachineImage, name: %s}
`, item))
	u.kubectl("wait", "--for=condition=Ready", "vm/of-item", "--timeout=90s")
	u.wants("vm/tool", ".status.powerState", "PoweredOff")
	for _, name := range []string{"copy", "of-item"} {
		for _, path := range []string{".status.instanceUUID", ".status.biosUUID", ".status.network.interfaces[0].macAddress"} {
			if got := u.get("vm/"+name, path); got == "" || got == u.get("vm/tool", path) {
				t.Errorf("%s of %s is %q, like that of its source", path, name, got)
			}
		}
	}
	u.kubectl("delete", "vm/of-item", "--timeout=90s") // so that its image goes with the library
}

func TestACloneWaitsForItsSource(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("source") + `
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: clone}
spec:
  instancetype: {inferFromVolume: image}
  image: {kind: VirtualMachine, name: source}
`)
	u.kubectl("wait", "--for=condition=Ready", "vm/source", "--timeout=90s")
	u.wants("vm/clone", `.status.conditions[?(@.type=="ImageReady")].reason`, "NotReady")
	u.virtctl("stop", "source")
	u.kubectl("wait", "--for=condition=Ready", "vm/clone", "--timeout=90s")
	u.wants("vm/clone", ".status.instancetypeRef.name", "small")
	u.refused(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: self}
spec:
  cpu: {sockets: 1}
  memory: {guest: 1Gi}
  image: {kind: VirtualMachine, name: self}
`, []string{"apply", "-f", "-"}, "spec.image.name", "another virtual machine")
	u.virtctl("start", "source")
	u.kubectl("wait", "--for=condition=Ready", "vm/source", "--timeout=90s")
	u.wants("vm/clone", ".status.powerState", "PoweredOn")
}

// Who may make virtual machines may not see what is on the disks of others.
func TestOnlyWhoMayUpdateAVMCopiesIt(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("source", "powerState: PoweredOff"))
	u.kubectl("wait", "--for=condition=Created", "vm/source", "--timeout=90s")
	u.kubectl("create", "role", "creator", "--verb=create,get", "--resource=virtualmachines.vm.slipway.dev,virtualmachinepublishrequests.vm.slipway.dev")
	u.kubectl("create", "rolebinding", "creator", "--role=creator", "--user=creator")
	clone := `
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: clone}
spec:
  cpu: {sockets: 1}
  memory: {guest: 1Gi}
  image: {kind: VirtualMachine, name: source}
`
	request := `
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachinePublishRequest
metadata: {name: source}
spec: {target: {contentLibrary: none}}
`
	for _, manifest := range []string{clone, request} {
		u.refused(manifest, []string{"create", "--as=creator", "-f", "-"}, `only who may update VirtualMachine "source"`)
	}
	u.kubectl("create", "role", "editor", "--verb=update", "--resource=virtualmachines.vm.slipway.dev", "--resource-name=source")
	u.kubectl("create", "rolebinding", "editor", "--role=editor", "--user=creator")
	for _, manifest := range []string{clone, request} {
		eventually(t, long, "who may update it may copy it", func() error {
			_, errOut, err := u.try(manifest, "kubectl", "create", "--as=creator", "-f", "-")
			if err != nil {
				return errorf("%s", errOut)
			}
			return nil
		})
	}
}
