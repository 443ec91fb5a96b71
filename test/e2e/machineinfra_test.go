// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
)

//go:embed testdata/clusterapi.yaml
var clusterAPIKinds string

// Kinds of Cluster API, by names that our own kinds do not have.
const (
	machineKind = "machines.cluster.x-k8s.io/"
	clusterKind = "clusters.cluster.x-k8s.io/"
)

// installClusterAPI gives the environment Machines and Clusters until the test ends.
func (u user) installClusterAPI() {
	u.t.Helper()
	u.apply(clusterAPIKinds)
	u.t.Cleanup(func() {
		cleanup := exec.Command(filepath.Join(binDir, "kubectl"), "--kubeconfig", u.kubeconfig, "delete", "--ignore-not-found", "--timeout=90s",
			"crd/machines.cluster.x-k8s.io", "crd/clusters.cluster.x-k8s.io")
		if out, err := cleanup.CombinedOutput(); err != nil {
			u.t.Logf("deleting the kinds: %v\n%s", err, out)
		}
	})
	u.kubectl("wait", "--for=condition=Established", "crd/machines.cluster.x-k8s.io", "crd/clusters.cluster.x-k8s.io", "--timeout=90s")
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

// nodeVM is a VM that is made for a Machine of the cluster.
func nodeVM(name string, lines ...string) string {
	return strings.Replace(vmManifest(name, lines...), "metadata: {name: "+name+"}", "metadata: {name: "+name+", labels: {cluster.x-k8s.io/cluster-name: shop}}", 1)
}

// adopts does what Cluster API does when it finds the infrastructure of a Machine.
func (u user) adopts(machine, vm string) {
	u.t.Helper()
	u.owns(vm, machine, u.get(machineKind+machine, ".metadata.uid"))
}

func (u user) owns(vm, machine, uid string) {
	u.t.Helper()
	u.kubectl("patch", "vm/"+vm, "--type=merge", "-p", fmt.Sprintf(
		`{"metadata":{"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","name":%q,"uid":%q,"controller":true}]}}`, machine, uid))
}

// tells waits until a condition of a VM has a reason and says something.
func (u user) tells(vm, condition, reason, text string) {
	u.t.Helper()
	field := func(name string) string { return fmt.Sprintf(`.status.conditions[?(@.type==%q)].%s`, condition, name) }
	eventually(u.t, long, fmt.Sprintf("%s of %s says %s", condition, vm, reason), func() error {
		if got, message := u.get("vm/"+vm, field("reason")), u.get("vm/"+vm, field("message")); got != reason || !strings.Contains(message, text) {
			return errorf("it says %s: %s", got, message)
		}
		return nil
	})
}

func (u user) patch(object, patch string, args ...string) {
	u.t.Helper()
	u.kubectl(append([]string{"patch", object, "--type=merge", "-p", patch}, args...)...)
}

// One test, for the kinds are the whole cluster's.
func TestAVMIsTheInfrastructureOfAMachineOfClusterAPI(t *testing.T) {
	u := admin(t)
	u.apply(catalogue + nodeVM("early"))
	u.tells("early", "MachineReady", "WaitingForMachine", "none owns it yet")
	u.owns("early", "node", "8d3b2c4e-0000-4000-8000-000000000001")
	u.tells("early", "MachineReady", "WaitingForMachine", "does not serve cluster.x-k8s.io/v1beta2")
	u.kubectl("delete", "vm/early", "--timeout=90s")

	t.Log("Cluster API is installed while the server runs")
	u.installClusterAPI()
	u.apply(theirCluster + theirMachine("node", "node", "failureDomain: nowhere", "bootstrap: {}") + nodeVM("node"))
	u.tells("node", "MachineReady", "WaitingForMachine", "none owns it yet")
	u.adopts("node", "node")
	u.tells("node", "MachineReady", "WaitingForClusterInfrastructureReady", `Cluster "shop"`)
	u.wants("vm/node", ".status.machine.name", "node")
	u.wants("vm/node", ".status.printableStatus", "MachineWaitingForClusterInfrastructureReady")
	u.patch(clusterKind+"shop", `{"status":{"initialization":{"infrastructureProvisioned":true}}}`, "--subresource=status")
	u.tells("node", "MachineReady", "WaitingForBootstrapData", `Machine "node"`)

	t.Log("data that cannot be used")
	u.patch(machineKind+"node", `{"spec":{"bootstrap":{"dataSecretName":"data"}}}`)
	u.tells("node", "BootstrapReady", "NotFound", `Secret "data" does not exist`)
	u.kubectl("create", "secret", "generic", "data", "--from-literal=user-data=hunter2")
	u.tells("node", "BootstrapReady", "NotFound", `has no key "value"`)
	u.patch("secret/data", `{"stringData":{"value":"#cloud-config\n# of the node\n","format":"toml"}}`)
	u.tells("node", "BootstrapReady", "Invalid", "allowed are cloud-config and ignition")
	u.patch("secret/data", fmt.Sprintf(`{"stringData":{"value":%q,"format":"cloud-config"}}`, noise(100_000)))
	u.tells("node", "BootstrapReady", "Invalid", `the value of key "value" of Secret "data"`)
	if _, made := inventory(t, u.namespace)["node"]; made {
		t.Error("a VM was made without the data of its Machine")
	}

	t.Log("a failure domain that is no zone, and one that is")
	u.patch("secret/data", `{"stringData":{"value":"#cloud-config\n# of the node\n"}}`)
	u.tells("node", "PlacementReady", "NotFound", "zone nowhere: there is no such Zone")
	u.patch(machineKind+"node", `{"spec":{"failureDomain":"default"}}`)
	u.kubectl("wait", "--for=condition=Ready", "vm/node", "--timeout=90s")
	u.wants("vm/node", ".status.failureDomain", "default")
	u.wants("vm/node", ".status.initialization.provisioned", "true")
	u.wants("vm/node", ".spec.zone", "")
	u.wants("vm/node", ".spec.bootstrap", "")
	if id, bios := u.get("vm/node", ".spec.providerID"), u.get("vm/node", ".status.biosUUID"); id != "vsphere://"+bios || bios == "" {
		t.Errorf("provider ID %q of BIOS UUID %q", id, bios)
	}
	if got := u.get("vm/node", `.status.addresses[?(@.type=="InternalIP")].address`); got == "" {
		t.Errorf("addresses %s", u.get("vm/node", ".status.addresses"))
	}
	told := settings(t, u.get("vm/node", ".status.uniqueID"))
	if !strings.Contains(told["guestinfo.userdata"], "# of the node") || !strings.Contains(told["guestinfo.metadata"], `"local-hostname":"node"`) {
		t.Errorf("the guest was told %q with metadata %q", told["guestinfo.userdata"], told["guestinfo.metadata"])
	}
	eventually(t, long, "an event names the Machine", func() error {
		if got := u.kubectl("get", "events.events.k8s.io", "-o", `jsonpath={.items[?(@.reason=="MachineFound")].note}`); !strings.Contains(got, `Machine "node" of cluster.x-k8s.io`) {
			return errorf("the events say %s", got)
		}
		return nil
	})

	t.Log("Ignition, and what does not fit")
	u.kubectl("create", "secret", "generic", "ignition", "--from-literal=format=ignition", `--from-literal=value={"ignition":{"version":"3.4.0"}}`)
	u.apply(theirMachine("coreos", "coreos", "bootstrap: {dataSecretName: ignition}") + nodeVM("coreos") +
		theirMachine("elsewhere", "elsewhere", "failureDomain: other", "bootstrap: {dataSecretName: data}") + nodeVM("elsewhere", "zone: default") +
		theirMachine("victim", "node", "bootstrap: {dataSecretName: data}") + nodeVM("thief"))
	for machine, vm := range map[string]string{"coreos": "coreos", "elsewhere": "elsewhere", "victim": "thief"} {
		u.adopts(machine, vm)
	}
	u.tells("elsewhere", "MachineReady", "Invalid", `failure domain "other", and the virtual machine in zone "default"`)
	u.tells("thief", "MachineReady", "Invalid", `Machine "victim" of cluster.x-k8s.io does not name it in spec.infrastructureRef`)
	u.kubectl("wait", "--for=condition=Ready", "vm/coreos", "--timeout=90s")
	if got := settings(t, u.get("vm/coreos", ".status.uniqueID"))["guestinfo.ignition.config.data"]; !strings.Contains(got, "3.4.0") {
		t.Errorf("Ignition has %q", got)
	}
	for _, vm := range []string{"elsewhere", "thief"} {
		if _, made := inventory(t, u.namespace)[vm]; made {
			t.Errorf("%s was made all the same", vm)
		}
	}
	pausesAndGoes(u)
}

// pausesAndGoes pauses the VMs of the cluster, changes and deletes them, and looks after the disk
// of a volume that the workload cluster's own CSI driver has attached.
func pausesAndGoes(u user) {
	t := u.t
	volume := makeVolume(u, "workload", "ReadWriteOnce")
	withVCenter(t, func(ctx context.Context, v *govmomi.Client, ds *object.Datastore) {
		vm := object.NewVirtualMachine(v.Client, inventory(t, u.namespace)["node"].Self)
		if err := vm.AttachDisk(ctx, volume.id, ds, 0, nil); err != nil {
			t.Fatal(err)
		}
	})
	volume.lives("node")

	t.Log("the Cluster is paused, and one of its VMs by itself")
	u.patch(clusterKind+"shop", `{"spec":{"paused":true}}`)
	u.tells("node", "Paused", "Paused", `by spec.paused of Cluster "shop"`)
	u.tells("coreos", "Paused", "Paused", `by spec.paused of Cluster "shop"`)
	u.kubectl("annotate", "vm/coreos", "cluster.x-k8s.io/paused=")
	u.patch("vm/coreos", `{"spec":{"powerState":"PoweredOff"}}`)
	u.kubectl("delete", "vm/node", "--wait=false")
	u.tells("node", "Paused", "Paused", "deletion is paused")
	for _, vm := range []string{"node", "coreos"} {
		if state := inventory(t, u.namespace)[vm].Runtime.PowerState; state != "poweredOn" {
			t.Errorf("%s is %q while it is paused", vm, state)
		}
	}
	u.patch(clusterKind+"shop", `{"spec":{"paused":false}}`)
	u.kubectl("wait", "--for=delete", "vm/node", "--timeout=90s")
	volume.lives()
	u.tells("coreos", "Paused", "Paused", "by annotation cluster.x-k8s.io/paused")
	if state := inventory(t, u.namespace)["coreos"].Runtime.PowerState; state != "poweredOn" {
		t.Errorf("coreos is %q while it is paused", state)
	}
	u.kubectl("annotate", "vm/coreos", "cluster.x-k8s.io/paused-")
	u.wants("vm/coreos", ".status.powerState", "PoweredOff")
}

// Our own Machines, whose kinds the server itself has.
func TestTheExampleOfAClusterBoots(t *testing.T) {
	clusterObjects(t, "virtualmachineclusterinstancetype/u1.small", "virtualmachineclusterpreference/linux.efi")
	u := admin(t)
	u.applyExamples("../../artifacts/examples/quickstart.yaml", "../../artifacts/examples/cluster.yaml")
	const machine = "machines.cluster.slipway.dev/shop-control-plane"
	u.wants("slipwaycluster/shop", `.status.conditions[?(@.type=="Ready")].status`, "True")
	u.wants("clusters.cluster.slipway.dev/shop", ".status.initialization.infrastructureProvisioned", "true")
	u.wants("vm/shop-control-plane", `.status.conditions[?(@.type=="Ready")].status`, "True")
	u.wants(machine, ".status.initialization.infrastructureProvisioned", "true")
	u.wants(machine, ".spec.providerID", u.get("vm/shop-control-plane", ".spec.providerID"))
	u.wants("vm/shop-control-plane", ".status.machine.apiGroup", "cluster.slipway.dev")
	u.wants("slipwaycluster/shop", ".status.failureDomains[*].name", "default")
	nodes := func() []string {
		return strings.Fields(u.get("vm", `.items[?(@.metadata.labels.cluster\.x-k8s\.io/cluster-name=="shop")].metadata.name`))
	}
	eventually(t, long, "the nodes run", func() error {
		ready := strings.Count(u.get("vm", `.items[?(@.status.machine.dataFormat=="cloud-config")].status.initialization.provisioned`), "true")
		if ready != 4 || len(nodes()) != 4 {
			return errorf("%d of %v", ready, nodes())
		}
		return nil
	})
	for _, vm := range nodes() {
		if got := settings(t, u.get("vm/"+vm, ".status.uniqueID"))["guestinfo.userdata"]; !strings.Contains(got, "the node joins its cluster here") {
			t.Errorf("%s was told %q", vm, got)
		}
	}
	u.patch("clusters.cluster.slipway.dev/shop", `{"spec":{"paused":true}}`)
	u.tells("shop-control-plane", "Paused", "Paused", `by spec.paused of Cluster "shop"`)
	u.patch("clusters.cluster.slipway.dev/shop", `{"spec":{"paused":false}}`)
	u.kubectl("delete", machine, "--timeout=90s")
	u.wants("vm/shop-control-plane", ".metadata.name", "")
}

// noise is text that cannot be packed.
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
