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

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/testenv"
)

// discovered is many times the delay with which kube-controller-manager, which reads the API every 30 seconds, counts
// our kinds.
const discovered = 5 * time.Minute

// quotaOf returns a ResourceQuota with these limits, each name=quantity.
func quotaOf(name string, limits ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: %s}\nspec:\n  hard:\n", name)
	for _, l := range limits {
		name, quantity, _ := strings.Cut(l, "=")
		fmt.Fprintf(&b, "    %s: %q\n", name, quantity)
	}
	return b.String()
}

// used waits until a quota reports the given usage of a resource.
func (u user) used(quota, name, want string) {
	u.T.Helper()
	u.Wants("resourcequota/"+quota, ".status.used."+strings.ReplaceAll(name, ".", `\.`), want)
}

// counted waits until a quota that limits vCPUs reports the usage of all its resources, and the server has received
// it.
func (u user) counted(quota string) {
	u.T.Helper()
	testenv.Eventually(u.T, discovered, "all of quota "+quota+" is counted", func() error {
		hard, used := u.Get("resourcequota/"+quota, ".spec.hard"), u.Get("resourcequota/"+quota, ".status.used")
		if hard == "" || strings.Count(hard, ":") != strings.Count(used, ":") {
			return fmt.Errorf("of %s it reports %s", hard, used)
		}
		err := u.TryCreate(testenv.VMWith("probe", "powerState: PoweredOff", "cpu: {sockets: 64}", "memory: {guest: 1Gi}"))
		if err == nil || !strings.Contains(err.Error(), "exceeded quota: "+quota) {
			return fmt.Errorf("64 vCPUs are answered with %w", err)
		}
		return nil
	})
}

// One namespace has one quota after another, because kube-controller-manager takes half a minute to count our kinds the
// first time.
func TestQuota_OfTheManagementClusterLimitsVirtualMachines(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.Put(testenv.Catalogue)
	u.Ready("vmimage/photon-5")
	u.part("in its own words", func(t *testing.T, u user) { u.limits(t) })
	u.part("that are refreshed, switched, or follow their class", func(t *testing.T, u user) { u.cannotGrow(t) })
	u.part("that are reverted", func(t *testing.T, u user) { u.cannotBeReverted(t) })
	u.part("created at the same time", func(t *testing.T, u user) { u.cannotOverrun(t) })
}

// ends deletes all VMs and the quota of a subtest.
func (u user) ends() {
	for _, vm := range strings.Fields(u.Get("vm", ".items[*].metadata.name")) {
		u.Delete("vm/" + vm)
	}
	u.Delete("resourcequota/team")
}

func (u user) limits(t *testing.T) {
	defer u.ends()
	u.Put(quotaOf("team", "count/virtualmachines.vm.slipway.dev=3", "vm.slipway.dev/vcpus=6", "vm.slipway.dev/memory=6Gi",
		"vm.slipway.dev/storage=100Gi", "running.vm.slipway.dev/vcpus=3", "running.vm.slipway.dev/memory=8Gi"))
	u.counted("team")

	u.Put(testenv.VM("web", "volumes: [{name: data, disk: {size: 10Gi}}]"))
	u.used("team", "count/virtualmachines.vm.slipway.dev", "1")
	u.used("team", "vm.slipway.dev/vcpus", "2")
	u.used("team", "vm.slipway.dev/memory", "2Gi")
	u.used("team", "running.vm.slipway.dev/vcpus", "2")
	description := u.Kubectl("describe", "quota", "team")
	for _, want := range []string{"vm.slipway.dev/vcpus", "count/virtualmachines.vm.slipway.dev", "running.vm.slipway.dev/memory"} {
		if !strings.Contains(description, want) {
			t.Errorf("kubectl describe quota does not show %s:\n%s", want, description)
		}
	}
	disks := u.Get("resourcequota/team", `.status.used.vm\.slipway\.dev/storage`)
	if q, err := resource.ParseQuantity(disks); err != nil || q.CmpInt64(10<<30) <= 0 {
		t.Errorf("%q of storage are used, want the 10Gi of the volume and the disk of the image", disks)
	}

	off := "powerState: PoweredOff"
	u.Denied(testenv.VM("more"), "exceeded quota: team, requested: running.vm.slipway.dev/vcpus=2, used: running.vm.slipway.dev/vcpus=2, limited: running.vm.slipway.dev/vcpus=3", "forbidden")
	u.Denied(testenv.VMWith("huge", off, "cpu: {sockets: 5}", "memory: {guest: 8Gi}"), "exceeded quota: team, requested: vm.slipway.dev/memory=8Gi,vm.slipway.dev/vcpus=5, used: vm.slipway.dev/memory=2Gi,vm.slipway.dev/vcpus=2, limited: vm.slipway.dev/memory=6Gi,vm.slipway.dev/vcpus=6")
	u.Denied(testenv.VM("wide", off, "volumes: [{name: data, disk: {size: 100Gi}}]"), "exceeded quota: team, requested: vm.slipway.dev/storage=", "limited: vm.slipway.dev/storage=100Gi")
	u.Denied(testenv.VMWith("odd", off, "instancetype: {name: nowhere, kind: VirtualMachineInstancetype}"), "failed quota: team: cannot determine", "vm.slipway.dev/vcpus", "nowhere")

	// A powered-off VM is charged, but not as running. Starting it is charged.
	u.Put(testenv.VM("spare", off))
	u.used("team", "vm.slipway.dev/vcpus", "4")
	u.used("team", "running.vm.slipway.dev/vcpus", "2")
	_, errOut, err := u.Try("", "virtctl", "start", "spare")
	if want := "exceeded quota: team, requested: running.vm.slipway.dev/vcpus=2, used: running.vm.slipway.dev/vcpus=2, limited: running.vm.slipway.dev/vcpus=3"; err == nil || !strings.Contains(errOut, want) {
		t.Errorf("starting beyond the quota: %v %s, want an error with %q", err, errOut, want)
	}
	u.PatchDenied("vm/spare", `{"spec":{"powerState":"PoweredOn"}}`, "exceeded quota: team")
	if got := u.Get("vm/spare", ".spec.powerState"); got != "PoweredOff" {
		t.Errorf("a refused start left spec.powerState %q", got)
	}
	u.Label("vm/spare", "a=b") // an object without a charge is not rejected

	u.Delete("vm/web")
	u.used("team", "vm.slipway.dev/vcpus", "2")
	u.used("team", "running.vm.slipway.dev/vcpus", "0")
	u.Virtctl("start", "spare")
	u.used("team", "running.vm.slipway.dev/vcpus", "2")
	u.used("team", "count/virtualmachines.vm.slipway.dev", "1")
}

func (u user) cannotGrow(t *testing.T) {
	defer u.ends()
	u.Put(`
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineInstancetype
metadata: {name: large}
spec: {cpu: {guest: 4}, memory: {guest: 4Gi}}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineClass
metadata: {name: c}
spec: {cpu: {sockets: 1}, memory: {guest: 1Gi}}
` + testenv.VM("web") + testenv.VMWith("classy", "className: c", "powerState: PoweredOff"))
	u.Ready("vm/web")
	u.Put(quotaOf("team", "vm.slipway.dev/vcpus=4"))
	u.counted("team")
	u.used("team", "vm.slipway.dev/vcpus", "3")
	const words = "used: vm.slipway.dev/vcpus=3, limited: vm.slipway.dev/vcpus=4"

	u.PatchDenied("vm/web", `{"spec":{"instancetype":{"name":"large"}}}`, "exceeded quota: team, requested: vm.slipway.dev/vcpus=2, "+words)
	u.PatchDenied("vmclass/c", `{"spec":{"cpu":{"sockets":3}}}`, "exceeded quota: team, requested: vm.slipway.dev/vcpus=2, "+words)

	u.Patch("virtualmachineinstancetype/small", `{"spec":{"cpu":{"guest":8}}}`)
	u.Wants("vm/web", ".status.instancetypeRef.outdated", "true")
	captured := u.Get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name")
	_, errOut, err := u.Try("", "virtctl", "refresh", "instancetype", "web")
	if want := "exceeded quota: team, requested: vm.slipway.dev/vcpus=6, " + words; err == nil || !strings.Contains(errOut, want) {
		t.Errorf("refreshing beyond the quota: %v %s, want an error with %q", err, errOut, want)
	}
	if got := u.Get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name"); got != captured {
		t.Errorf("a refused refresh changed the revision from %q to %q", captured, got)
	}
	u.used("team", "vm.slipway.dev/vcpus", "3")

	u.Patch("virtualmachineinstancetype/small", `{"spec":{"cpu":{"guest":3}}}`)
	u.Virtctl("refresh", "instancetype", "web")
	u.used("team", "vm.slipway.dev/vcpus", "4")
}

func (u user) cannotBeReverted(t *testing.T) {
	defer u.ends()
	u.Put(quotaOf("team", "vm.slipway.dev/vcpus=2"))
	u.counted("team")
	u.Put(testenv.VMWith("web", "cpu: {sockets: 2}", "memory: {guest: 1Gi}"))
	u.Ready("vm/web")
	u.Virtctl("snapshot", "create", "web", "before", "--memory", "--wait")
	u.Virtctl("stop", "web", "--mode=Hard")
	u.Wants("vm/web", ".status.powerState", "PoweredOff")
	u.Patch("vm/web", `{"spec":{"cpu":{"sockets":1}}}`)
	u.Wants("vm/web", ".status.resources.vcpus", "1")
	u.used("team", "vm.slipway.dev/vcpus", "1")
	u.Put(testenv.VMWith("db", "cpu: {sockets: 1}", "memory: {guest: 1Gi}"))

	u.Virtctl("snapshot", "revert", "web", "before")
	testenv.Eventually(t, testenv.Long, "the revert is refused", func() error {
		if got := u.Get("vm/web", `.status.conditions[?(@.type=="SnapshotSynced")].message`); !strings.Contains(got, "exceeded quota: team") {
			return fmt.Errorf("the condition is %q", got)
		}
		return nil
	})
	u.Wants("vm/web", ".status.powerState", "PoweredOff")
	u.Wants("vm/web", ".status.resources.vcpus", "1")
	u.Delete("vm/db")
	u.Wants("vm/web", ".spec.currentSnapshotName", "")
	u.Wants("vm/web", ".status.resources.vcpus", "2")
	u.used("team", "vm.slipway.dev/vcpus", "2")
}

// cannotOverrun creates and deletes objects concurrently. The number of objects never exceeds the quota.
func (u user) cannotOverrun(t *testing.T) {
	const limit = 5
	u.Put(quotaOf("team", fmt.Sprintf("vm.slipway.dev/vcpus=%d", limit)))
	u.counted("team")
	config := testenv.Of(t).RestConfig()
	config.QPS = -1
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	vms := client.VmV1alpha1().VirtualMachines(u.Namespace)
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
		list := listed(t, client, u.Namespace)
		if len(list) > limit {
			t.Fatalf("%d VMs exist, but the quota allows %d", len(list), limit)
		}
		if round == 0 && int(created.Load()) != limit {
			t.Errorf("%d VMs were created in the empty namespace, want %d", created.Load(), limit)
		}
		// Some are deleted, and the next round begins meanwhile.
		for _, name := range list[:min(2, len(list))] {
			// A VM of the previous round may have been deleted in between.
			if err := vms.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	}
	testenv.Eventually(t, testenv.Long, "the charged VMs are the existing ones", func() error {
		want := fmt.Sprint(len(listed(t, client, u.Namespace)))
		if diff := cmp.Diff(want, u.Get("resourcequota/team", `.status.used.vm\.slipway\.dev/vcpus`)); diff != "" {
			return fmt.Errorf("%s", diff)
		}
		return nil
	})
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
