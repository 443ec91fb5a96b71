// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

// discovered is many times what kube-controller-manager, which looks at the API every half
// minute, takes to count our kinds.
const discovered = 5 * time.Minute

// quotaOf is a ResourceQuota with these limits, each name=quantity.
func quotaOf(name string, limits ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: %s}\nspec:\n  hard:\n", name)
	for _, l := range limits {
		name, quantity, _ := strings.Cut(l, "=")
		fmt.Fprintf(&b, "    %s: %q\n", name, quantity)
	}
	return b.String()
}

// used waits until a quota says that so much is used of a resource.
func (u user) used(quota, name, want string) {
	u.t.Helper()
	u.wants("resourcequota/"+quota, ".status.used."+strings.ReplaceAll(name, ".", `\.`), want)
}

// counted waits until a quota, which limits vCPUs, says what is used of all that it
// limits, and the server has heard.
func (u user) counted(quota string) {
	u.t.Helper()
	eventually(u.t, discovered, "all of quota "+quota+" is counted", func() error {
		hard, used := u.get("resourcequota/"+quota, ".spec.hard"), u.get("resourcequota/"+quota, ".status.used")
		if hard == "" || strings.Count(hard, ":") != strings.Count(used, ":") {
			return errorf("of %s it says %s", hard, used)
		}
		_, errOut, err := u.try(vmWith("probe", "powerState: PoweredOff", "cpu: {sockets: 64}", "memory: {guest: 1Gi}"), "kubectl", "create", "--dry-run=server", "-f", "-")
		if err == nil || !strings.Contains(errOut, "exceeded quota: "+quota) {
			return errorf("64 vCPUs are answered with %v %s", err, errOut)
		}
		return nil
	})
}

func TestAResourceQuotaLimitsVirtualMachinesInItsOwnWords(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue)
	u.wants("vmimage/photon-5", `.status.conditions[?(@.type=="Ready")].status`, "True")
	u.apply(quotaOf("team", "count/virtualmachines.vm.slipway.dev=3", "vm.slipway.dev/vcpus=6", "vm.slipway.dev/memory=6Gi",
		"vm.slipway.dev/storage=100Gi", "running.vm.slipway.dev/vcpus=3", "running.vm.slipway.dev/memory=8Gi"))
	u.counted("team")

	u.apply(vmManifest("web", "volumes: [{name: data, disk: {size: 10Gi}}]"))
	u.used("team", "count/virtualmachines.vm.slipway.dev", "1")
	u.used("team", "vm.slipway.dev/vcpus", "2")
	u.used("team", "vm.slipway.dev/memory", "2Gi")
	u.used("team", "running.vm.slipway.dev/vcpus", "2")
	description := u.kubectl("describe", "quota", "team")
	for _, want := range []string{"vm.slipway.dev/vcpus", "count/virtualmachines.vm.slipway.dev", "running.vm.slipway.dev/memory"} {
		if !strings.Contains(description, want) {
			t.Errorf("kubectl describe quota does not show %s:\n%s", want, description)
		}
	}
	disks := u.get("resourcequota/team", `.status.used.vm\.slipway\.dev/storage`)
	if q, err := resource.ParseQuantity(disks); err != nil || q.CmpInt64(10<<30) <= 0 {
		t.Errorf("%q of storage are used, want the 10Gi of the volume and the disk of the image", disks)
	}

	off := "powerState: PoweredOff"
	u.refused(vmManifest("more"), []string{"create", "-f", "-"}, "exceeded quota: team, requested: running.vm.slipway.dev/vcpus=2, used: running.vm.slipway.dev/vcpus=2, limited: running.vm.slipway.dev/vcpus=3", "forbidden")
	u.refused(vmWith("huge", off, "cpu: {sockets: 5}", "memory: {guest: 8Gi}"), []string{"create", "-f", "-"},
		"exceeded quota: team, requested: vm.slipway.dev/memory=8Gi,vm.slipway.dev/vcpus=5, used: vm.slipway.dev/memory=2Gi,vm.slipway.dev/vcpus=2, limited: vm.slipway.dev/memory=6Gi,vm.slipway.dev/vcpus=6")
	u.refused(vmManifest("wide", off, "volumes: [{name: data, disk: {size: 100Gi}}]"), []string{"create", "-f", "-"},
		"exceeded quota: team, requested: vm.slipway.dev/storage=", "limited: vm.slipway.dev/storage=100Gi")
	u.refused(vmWith("odd", off, "instancetype: {name: nowhere, kind: VirtualMachineInstancetype}"), []string{"create", "-f", "-"},
		"failed quota: team: cannot tell", "vm.slipway.dev/vcpus", "nowhere")

	// Powered off it is charged as well, but not as running, and starting it is.
	u.apply(vmManifest("spare", off))
	u.used("team", "vm.slipway.dev/vcpus", "4")
	u.used("team", "running.vm.slipway.dev/vcpus", "2")
	_, errOut, err := u.try("", "virtctl", "start", "spare")
	if want := "exceeded quota: team, requested: running.vm.slipway.dev/vcpus=2, used: running.vm.slipway.dev/vcpus=2, limited: running.vm.slipway.dev/vcpus=3"; err == nil || !strings.Contains(errOut, want) {
		t.Errorf("starting beyond the quota: %v %s, want a refusal that says %q", err, errOut, want)
	}
	u.refused("", []string{"patch", "vm/spare", "--type=merge", "-p", `{"spec":{"powerState":"PoweredOn"}}`}, "exceeded quota: team")
	if got := u.get("vm/spare", ".spec.powerState"); got != "PoweredOff" {
		t.Errorf("a refused start left spec.powerState %q", got)
	}
	u.kubectl("label", "vm/spare", "a=b") // what costs nothing is not refused

	u.kubectl("delete", "vm/web", "--timeout=90s")
	u.used("team", "vm.slipway.dev/vcpus", "2")
	u.used("team", "running.vm.slipway.dev/vcpus", "0")
	u.virtctl("start", "spare")
	u.used("team", "running.vm.slipway.dev/vcpus", "2")
	u.used("team", "count/virtualmachines.vm.slipway.dev", "1")
}

func TestRefreshSwitchAndClassCannotGrowBeyondAQuota(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + `
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineInstancetype
metadata: {name: large}
spec: {cpu: {guest: 4}, memory: {guest: 4Gi}}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineClass
metadata: {name: c}
spec: {cpu: {sockets: 1}, memory: {guest: 1Gi}}
` + vmManifest("web") + vmWith("classy", "className: c", "powerState: PoweredOff"))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	u.apply(quotaOf("team", "vm.slipway.dev/vcpus=4"))
	u.counted("team")
	u.used("team", "vm.slipway.dev/vcpus", "3")
	const words = "used: vm.slipway.dev/vcpus=3, limited: vm.slipway.dev/vcpus=4"

	u.refused("", []string{"patch", "vm/web", "--type=merge", "-p", `{"spec":{"instancetype":{"name":"large"}}}`},
		"exceeded quota: team, requested: vm.slipway.dev/vcpus=2, "+words)
	u.refused("", []string{"patch", "vmclass/c", "--type=merge", "-p", `{"spec":{"cpu":{"sockets":3}}}`},
		"exceeded quota: team, requested: vm.slipway.dev/vcpus=2, "+words)

	u.kubectl("patch", "virtualmachineinstancetype/small", "--type=merge", "-p", `{"spec":{"cpu":{"guest":8}}}`)
	u.wants("vm/web", ".status.instancetypeRef.outdated", "true")
	captured := u.get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name")
	_, errOut, err := u.try("", "virtctl", "refresh", "instancetype", "web")
	if want := "exceeded quota: team, requested: vm.slipway.dev/vcpus=6, " + words; err == nil || !strings.Contains(errOut, want) {
		t.Errorf("refreshing beyond the quota: %v %s, want a refusal that says %q", err, errOut, want)
	}
	if got := u.get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name"); got != captured {
		t.Errorf("a refused refresh changed the revision from %q to %q", captured, got)
	}
	u.used("team", "vm.slipway.dev/vcpus", "3")

	u.kubectl("patch", "virtualmachineinstancetype/small", "--type=merge", "-p", `{"spec":{"cpu":{"guest":3}}}`)
	u.virtctl("refresh", "instancetype", "web")
	u.used("team", "vm.slipway.dev/vcpus", "4")
}

func TestRevert_CannotExceedAQuota(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue)
	u.wants("vmimage/photon-5", `.status.conditions[?(@.type=="Ready")].status`, "True")
	u.apply(quotaOf("team", "vm.slipway.dev/vcpus=2"))
	u.counted("team")
	u.apply(vmWith("web", "cpu: {sockets: 2}", "memory: {guest: 1Gi}"))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	u.virtctl("snapshot", "create", "web", "before", "--memory", "--wait")
	u.virtctl("stop", "web", "--mode=Hard")
	u.wants("vm/web", ".status.powerState", "PoweredOff")
	u.kubectl("patch", "vm/web", "--type=merge", "-p", `{"spec":{"cpu":{"sockets":1}}}`)
	u.wants("vm/web", ".status.resources.vcpus", "1")
	u.used("team", "vm.slipway.dev/vcpus", "1")
	u.apply(vmWith("db", "cpu: {sockets: 1}", "memory: {guest: 1Gi}"))

	u.virtctl("snapshot", "revert", "web", "before")
	eventually(t, long, "the revert is refused", func() error {
		if got := u.get("vm/web", `.status.conditions[?(@.type=="SnapshotSynced")].message`); !strings.Contains(got, "exceeded quota: team") {
			return errorf("the condition says %q", got)
		}
		return nil
	})
	u.wants("vm/web", ".status.powerState", "PoweredOff")
	u.wants("vm/web", ".status.resources.vcpus", "1")
	u.kubectl("delete", "vm/db", "--timeout=90s")
	u.wants("vm/web", ".spec.currentSnapshotName", "")
	u.wants("vm/web", ".status.resources.vcpus", "2")
	u.used("team", "vm.slipway.dev/vcpus", "2")
}

// Creations and deletions run at the same time, and whoever counts the objects never
// finds more than the quota allows.
func TestConcurrentRequestsCannotOverrunAQuota(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue)
	const limit = 5
	u.apply(quotaOf("team", fmt.Sprintf("vm.slipway.dev/vcpus=%d", limit)))
	u.counted("team")
	config := environment(t).RestConfig()
	config.QPS = -1
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	vms := client.VmV1alpha1().VirtualMachines(u.namespace)
	const rounds, requests = 4, 12
	for round := range rounds {
		var created, refused atomic.Int32
		var all sync.WaitGroup
		for i := range requests {
			all.Go(func() {
				_, err := vms.Create(t.Context(), oneVCPU(fmt.Sprintf("vm-%d-%d", round, i)), metav1.CreateOptions{})
				switch {
				case err == nil:
					created.Add(1)
				case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota: team"):
					refused.Add(1)
				default:
					t.Errorf("creating a VM: %v", err)
				}
			})
		}
		all.Wait()
		if got := created.Load() + refused.Load(); got != requests {
			t.Errorf("%d of %d requests were answered", got, requests)
		}
		list := listed(t, client, u.namespace)
		if len(list) > limit {
			t.Fatalf("%d VMs are there, and the quota allows %d", len(list), limit)
		}
		if round == 0 && int(created.Load()) != limit {
			t.Errorf("%d VMs were created in the empty namespace, want %d", created.Load(), limit)
		}
		// Some go, and the next round begins while they do.
		for _, name := range list[:min(2, len(list))] {
			// One of the round before may have gone meanwhile.
			if err := vms.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	}
	eventually(t, long, "as much is charged as is there", func() error {
		want := fmt.Sprint(len(listed(t, client, u.namespace)))
		if diff := cmp.Diff(want, u.get("resourcequota/team", `.status.used.vm\.slipway\.dev/vcpus`)); diff != "" {
			return errorf("%s", diff)
		}
		return nil
	})
}

// oneVCPU is a powered-off VM.
func oneVCPU(name string) *vmv1alpha1.VirtualMachine {
	memory := resource.MustParse("1Gi")
	return &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Image: &vmv1alpha1.VirtualMachineImageRef{Name: "photon-5"}, PowerState: vmv1alpha1.PoweredOff,
			CPU: &vmv1alpha1.VirtualMachineCPU{Sockets: 1}, Memory: &vmv1alpha1.VirtualMachineMemory{Guest: &memory},
		},
	}
}

func listed(t *testing.T, client versioned.Interface, namespace string) []string {
	t.Helper()
	list, err := client.VmV1alpha1().VirtualMachines(namespace).List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}
