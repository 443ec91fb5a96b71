// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"

	"github.com/slipway-dev/slipway/test/testenv"
)

//go:embed testdata/clusterapi.yaml
var clusterAPIKinds string

// Kinds of Cluster API whose names differ from those of our own kinds.
const (
	machineKind = "machines.cluster.x-k8s.io/"
	clusterKind = "clusters.cluster.x-k8s.io/"
)

// installClusterAPI installs the kinds Machine and Cluster until the test ends.
func (u user) installClusterAPI() {
	u.T.Helper()
	u.Put(clusterAPIKinds)
	u.RemoveAtEnd("crd/machines.cluster.x-k8s.io", "crd/clusters.cluster.x-k8s.io")
	u.Meets("Established", "crd/machines.cluster.x-k8s.io", "crd/clusters.cluster.x-k8s.io")
	testenv.Eventually(u.T, testenv.Short, "the kinds are served", func() error { return u.TryCreate(theirCluster) })
}

// theirMachine is a Machine of Cluster API whose infrastructure is a VM.
func theirMachine(name, vm string, lines ...string) string {
	return fmt.Sprintf(`
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: %s}
spec:
  clusterName: shop
  infrastructureRef: {apiGroup: vm.slipway.dev, kind: VirtualMachine, name: %s}
  %s
`, name, vm, strings.Join(lines, "\n  "))
}

const theirCluster = `
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: shop}
spec: {}
`

// nodeVM is a VM that is created for a Machine of the cluster.
func nodeVM(name string, lines ...string) string {
	return strings.Replace(testenv.VM(name, lines...), "metadata: {name: "+name+"}", "metadata: {name: "+name+", labels: {cluster.x-k8s.io/cluster-name: shop}}", 1)
}

// adopts sets the owner that Cluster API sets on the infrastructure of a Machine.
func (u user) adopts(machine, vm string) {
	u.T.Helper()
	u.owns(vm, machine, u.Get(machineKind+machine, ".metadata.uid"))
}

func (u user) owns(vm, machine, uid string) {
	u.T.Helper()
	u.Patch("vm/"+vm, fmt.Sprintf(
		`{"metadata":{"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","name":%q,"uid":%q,"controller":true}]}}`, machine, uid))
}

// awaitCondition waits until a condition of a VM has a reason and a message with the text.
func (u user) awaitCondition(vm, condition, reason, text string) {
	u.T.Helper()
	field := func(name string) string { return fmt.Sprintf(`.status.conditions[?(@.type==%q)].%s`, condition, name) }
	testenv.Eventually(u.T, testenv.Long, fmt.Sprintf("%s of %s has reason %s", condition, vm, reason), func() error {
		if got, message := u.Get("vm/"+vm, field("reason")), u.Get("vm/"+vm, field("message")); got != reason || !strings.Contains(message, text) {
			return fmt.Errorf("reason %s, message %s", got, message)
		}
		return nil
	})
}

// All checks are in one test, because the kinds are installed in the whole cluster.
func TestVirtualMachine_IsTheInfrastructureOfAMachineOfClusterAPI(t *testing.T) {
	u := admin(t)
	u.Put(testenv.Catalogue + nodeVM("early"))
	u.awaitCondition("early", "MachineReady", "WaitingForMachine", "no Machine owns it yet")
	u.owns("early", "node", "8d3b2c4e-0000-4000-8000-000000000001")
	u.awaitCondition("early", "MachineReady", "WaitingForMachine", "does not serve cluster.x-k8s.io/v1beta2")
	u.Delete("vm/early")

	t.Log("Cluster API is installed while the server runs")
	u.installClusterAPI()
	u.Put(theirCluster + theirMachine("node", "node", "failureDomain: nowhere", "bootstrap: {}") + nodeVM("node"))
	u.awaitCondition("node", "MachineReady", "WaitingForMachine", "no Machine owns it yet")
	u.adopts("node", "node")
	u.awaitCondition("node", "MachineReady", "WaitingForClusterInfrastructureReady", `Cluster "shop"`)
	u.Wants("vm/node", ".status.machine.name", "node")
	u.Wants("vm/node", ".status.printableStatus", "MachineWaitingForClusterInfrastructureReady")
	u.Patch(clusterKind+"shop", `{"status":{"initialization":{"infrastructureProvisioned":true}}}`, "status")
	u.awaitCondition("node", "MachineReady", "WaitingForBootstrapData", `Machine "node"`)

	t.Log("data that cannot be used")
	u.Patch(machineKind+"node", `{"spec":{"bootstrap":{"dataSecretName":"data"}}}`)
	u.awaitCondition("node", "BootstrapReady", "NotFound", `Secret "data" does not exist`)
	u.Put("apiVersion: v1\nkind: Secret\nmetadata: {name: data}\nstringData: {user-data: hunter2}\n")
	u.awaitCondition("node", "BootstrapReady", "NotFound", `has no key "value"`)
	u.Patch("secret/data", `{"stringData":{"value":"#cloud-config\n# of the node\n","format":"toml"}}`)
	u.awaitCondition("node", "BootstrapReady", "Invalid", "allowed: cloud-config, ignition")
	u.Patch("secret/data", fmt.Sprintf(`{"stringData":{"value":%q,"format":"cloud-config"}}`, noise(100_000)))
	u.awaitCondition("node", "BootstrapReady", "Invalid", `the value of key "value" of Secret "data"`)
	if _, made := testenv.Inventory(t, u.Namespace)["node"]; made {
		t.Error("a VM was created without the data of its Machine")
	}

	t.Log("a failure domain that is not a zone, and one that is")
	u.Patch("secret/data", `{"stringData":{"value":"#cloud-config\n# of the node\n"}}`)
	u.awaitCondition("node", "PlacementReady", "NotFound", "zone nowhere: the Zone does not exist")
	u.Patch(machineKind+"node", `{"spec":{"failureDomain":"default"}}`)
	u.Ready("vm/node")
	u.Wants("vm/node", ".status.failureDomain", "default")
	u.Wants("vm/node", ".status.initialization.provisioned", "true")
	u.Wants("vm/node", ".spec.zone", "")
	u.Wants("vm/node", ".spec.bootstrap", "")
	if id, bios := u.Get("vm/node", ".spec.providerID"), u.Get("vm/node", ".status.biosUUID"); id != "vsphere://"+bios || bios == "" {
		t.Errorf("provider ID %q of BIOS UUID %q", id, bios)
	}
	if got := u.Get("vm/node", `.status.addresses[?(@.type=="InternalIP")].address`); got == "" {
		t.Errorf("addresses %s", u.Get("vm/node", ".status.addresses"))
	}
	told := settings(t, u.Get("vm/node", ".status.uniqueID"))
	if !strings.Contains(told["guestinfo.userdata"], "# of the node") || !strings.Contains(told["guestinfo.metadata"], `"local-hostname":"node"`) {
		t.Errorf("the guest got user data %q and metadata %q", told["guestinfo.userdata"], told["guestinfo.metadata"])
	}
	testenv.Eventually(t, testenv.Long, "an event names the Machine", func() error {
		if got := u.Get("events.events.k8s.io", `.items[?(@.reason=="MachineFound")].note`); !strings.Contains(got, `Machine "node" of cluster.x-k8s.io`) {
			return fmt.Errorf("the events are %s", got)
		}
		return nil
	})

	t.Log("Ignition, and data that is too large")
	u.Put("apiVersion: v1\nkind: Secret\nmetadata: {name: ignition}\nstringData: {format: ignition, value: '{\"ignition\":{\"version\":\"3.4.0\"}}'}\n")
	u.Put(theirMachine("coreos", "coreos", "bootstrap: {dataSecretName: ignition}") + nodeVM("coreos") +
		theirMachine("elsewhere", "elsewhere", "failureDomain: other", "bootstrap: {dataSecretName: data}") + nodeVM("elsewhere", "zone: default") +
		theirMachine("victim", "node", "bootstrap: {dataSecretName: data}") + nodeVM("thief"))
	for machine, vm := range map[string]string{"coreos": "coreos", "elsewhere": "elsewhere", "victim": "thief"} {
		u.adopts(machine, vm)
	}
	u.awaitCondition("elsewhere", "MachineReady", "Invalid", `failure domain "other", but the zone of the virtual machine is "default"`)
	u.awaitCondition("thief", "MachineReady", "Invalid", `spec.infrastructureRef of Machine "victim" of cluster.x-k8s.io does not refer to the virtual machine`)
	u.Ready("vm/coreos")
	if got := settings(t, u.Get("vm/coreos", ".status.uniqueID"))["guestinfo.ignition.config.data"]; !strings.Contains(got, "3.4.0") {
		t.Errorf("Ignition has %q", got)
	}
	for _, vm := range []string{"elsewhere", "thief"} {
		if _, made := testenv.Inventory(t, u.Namespace)[vm]; made {
			t.Errorf("%s was created", vm)
		}
	}
	pausesAndGoes(u)
}

// pausesAndGoes pauses the VMs of the cluster, then changes and deletes them. It checks that the disk of a volume
// that the workload cluster's CSI driver attached is kept.
func pausesAndGoes(u user) {
	t := u.T
	volume := testenv.MakeVolume(u.User, "workload", "ReadWriteOnce")
	testenv.WithVCenter(t, func(ctx context.Context, v *govmomi.Client, ds *object.Datastore) {
		vm := object.NewVirtualMachine(v.Client, testenv.Inventory(t, u.Namespace)["node"].Self)
		if err := vm.AttachDisk(ctx, volume.ID, ds, 0, nil); err != nil {
			t.Fatal(err)
		}
	})
	volume.Lives("node")

	t.Log("the Cluster is paused, and one of its VMs separately")
	u.Patch(clusterKind+"shop", `{"spec":{"paused":true}}`)
	u.awaitCondition("node", "Paused", "Paused", `by spec.paused of Cluster "shop"`)
	u.awaitCondition("coreos", "Paused", "Paused", `by spec.paused of Cluster "shop"`)
	u.Annotate("vm/coreos", "cluster.x-k8s.io/paused=")
	u.Patch("vm/coreos", `{"spec":{"powerState":"PoweredOff"}}`)
	u.Remove("vm/node")
	u.awaitCondition("node", "Paused", "Paused", "deletion is paused")
	for _, vm := range []string{"node", "coreos"} {
		if state := testenv.Inventory(t, u.Namespace)[vm].Runtime.PowerState; state != "poweredOn" {
			t.Errorf("%s is %q while it is paused", vm, state)
		}
	}
	u.Patch(clusterKind+"shop", `{"spec":{"paused":false}}`)
	u.Wants("vm/node", ".metadata.name", "")
	volume.Lives()
	u.awaitCondition("coreos", "Paused", "Paused", "by annotation cluster.x-k8s.io/paused")
	if state := testenv.Inventory(t, u.Namespace)["coreos"].Runtime.PowerState; state != "poweredOn" {
		t.Errorf("coreos is %q while it is paused", state)
	}
	u.Annotate("vm/coreos", "cluster.x-k8s.io/paused-")
	u.Wants("vm/coreos", ".status.powerState", "PoweredOff")
}

// noise is text that cannot be compressed.
func noise(n int) string {
	out, state := make([]byte, n), uint32(1)
	for i := range out {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		out[i] = 'a' + byte(state%26)
	}
	return string(out)
}
