// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/testenv"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// zonesDeadline is many times the duration on an idle machine.
const zonesDeadline = 4 * time.Minute

const zonesImage = `apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: photon-5, namespace: default}
spec:
  contentLibrary: {library: slipway, item: photon-5}
`

// zonesScene is an environment with zones.
type zonesScene struct {
	*testing.T
	*localcluster.Cluster
	api vmclient.VmV1alpha1Interface
}

func newZonesScene(t *testing.T) *zonesScene {
	t.Helper()
	c := testenv.Of(t)
	s := &zonesScene{T: t, Cluster: c, api: versioned.NewForConfigOrDie(c.RestConfig()).VmV1alpha1()}
	s.must(s.Apply(t.Context(), []byte(zonesImage)))
	return s
}

// eventually waits until check returns nil.
func (s *zonesScene) eventually(what string, check func() error) {
	s.Helper()
	testenv.Eventually(s.T, zonesDeadline, what, check)
}

// create creates a running virtual machine. change modifies it first.
func (s *zonesScene) create(name string, change func(*vmv1alpha1.VirtualMachine)) {
	s.Helper()
	memory := resource.MustParse("1Gi")
	vm := &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: vmv1alpha1.VirtualMachineSpec{
			CPU: &vmv1alpha1.VirtualMachineCPU{Sockets: 1}, Memory: &vmv1alpha1.VirtualMachineMemory{Guest: &memory},
			Image: &vmv1alpha1.VirtualMachineImageRef{Name: "photon-5"},
		},
	}
	if change != nil {
		change(vm)
	}
	if _, err := s.api.VirtualMachines("default").Create(s.Context(), vm, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// ready waits until a virtual machine is ready, and returns it.
func (s *zonesScene) ready(name string) (vm *vmv1alpha1.VirtualMachine) {
	s.Helper()
	s.eventually(name+" is ready", func() (err error) {
		vm, err = s.api.VirtualMachines("default").Get(s.Context(), name, metav1.GetOptions{})
		if err != nil || conditions.IsTrue(vm.Status.Conditions, vmv1alpha1.ConditionReady) {
			return err
		}
		return fmt.Errorf("conditions %+v", vm.Status.Conditions)
	})
	return vm
}

// refused waits until no zone accepts a virtual machine, with a message that has all the words.
func (s *zonesScene) refused(name string, words ...string) {
	s.Helper()
	s.eventually(name+" is in no zone", func() error {
		vm, err := s.api.VirtualMachines("default").Get(s.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		c := conditions.Find(vm.Status.Conditions, vmv1alpha1.ConditionPlacementReady)
		if c == nil || c.Status != metav1.ConditionFalse || vm.Status.Zone != "" {
			return fmt.Errorf("zone %q, conditions %+v", vm.Status.Zone, vm.Status.Conditions)
		}
		for _, word := range words {
			if !strings.Contains(c.Message, word) {
				return fmt.Errorf("the message of PlacementReady is %q, without %q", c.Message, word)
			}
		}
		return nil
	})
}

// condition waits until a condition of a Zone or a VCenter has the given status and reason.
func (s *zonesScene) condition(what string, of func() ([]metav1.Condition, error), kind, want string) {
	s.Helper()
	s.eventually(what+" has "+kind+" "+want, func() error {
		all, err := of()
		if err != nil {
			return err
		}
		c := conditions.Find(all, kind)
		if c == nil || !strings.Contains(string(c.Status)+" "+c.Reason+" "+c.Message, want) {
			return fmt.Errorf("conditions %+v", all)
		}
		return nil
	})
}

func (s *zonesScene) zone(name string) func() ([]metav1.Condition, error) {
	return func() ([]metav1.Condition, error) {
		z, err := s.api.Zones().Get(s.Context(), name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return z.Status.Conditions, nil
	}
}

// awaitDeleted waits until an object is deleted.
func (s *zonesScene) awaitDeleted(what string, get func() error) {
	s.Helper()
	s.eventually(what+" is deleted", func() error {
		switch err := get(); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("it exists")
	})
}

// zonesReady waits until Zones are ready.
func (s *zonesScene) zonesReady(names ...string) {
	s.Helper()
	for _, name := range names {
		s.condition("zone "+name, s.zone(name), vmv1alpha1.ConditionReady, "True")
	}
}

// free sets the free space of datastores in the simulated vCenter with a number.
func (s *zonesScene) free(n int, bytes int64, datastores ...string) {
	s.Helper()
	for _, name := range datastores {
		query := url.Values{"datastore": {name}, "bytes": {strconv.FormatInt(bytes, 10)}}.Encode()
		s.order(n, http.MethodPut, "/datastore/free?"+query)
	}
}

// order sends a control request to the simulated vCenter with a number.
func (s *zonesScene) order(n int, method, path string) []byte {
	s.Helper()
	body, err := vsphereclient.Order(s.Context(), s.VCenterOf(n).ControlURL, method, path)
	s.must(err)
	return body
}

func (s *zonesScene) zoneGone(name string) {
	s.Helper()
	s.awaitDeleted("zone "+name, func() error {
		_, err := s.api.Zones().Get(s.Context(), name, metav1.GetOptions{})
		return err
	})
}

func (s *zonesScene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func TestVirtualMachines_AreSpreadOverZonesOfSeveralVCenters(t *testing.T) {
	testenv.Own(t, func(o *localcluster.Options) { o.Zones, o.VCenters = true, 2 })
	s := newZonesScene(t)
	pid := s.PID(serverName)
	s.zonesReady("default", "second", "third", "fourth")
	example, err := os.ReadFile("../../artifacts/examples/zones.yaml")
	s.must(err)
	s.must(s.Apply(t.Context(), example))
	s.zonesReady("zone-a", "zone-b")
	// An empty zone is deleted immediately.
	for _, name := range []string{"zone-a", "zone-b", "fourth"} {
		s.must(s.api.Zones().Delete(t.Context(), name, metav1.DeleteOptions{}))
		s.zoneGone(name)
	}

	spread := map[string][]string{}
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprintf("spread-%d", i))
		s.create(names[i], nil)
	}
	before := map[string]string{}
	for _, name := range names {
		vm := s.ready(name)
		spread[vm.Status.Zone] = append(spread[vm.Status.Zone], name)
		before[name] = vm.Status.Zone + " " + vm.Status.UniqueID
		if vm.Spec.Zone != "" || vm.Status.FailureDomain != vm.Status.Zone {
			t.Errorf("%s: spec.zone %q, failureDomain %q, in zone %q", name, vm.Spec.Zone, vm.Status.FailureDomain, vm.Status.Zone)
		}
	}
	for _, zone := range []string{"default", "second", "third"} {
		if len(spread[zone]) != 2 {
			t.Errorf("zone %s has %v of them, want two in each: %v", zone, spread[zone], spread)
		}
	}

	s.imageOf("photon-5", "default", "vcenter-2")
	s.grouped()
	s.requestZones()
	s.full()
	s.missing()
	s.removal(spread["third"])
	s.imageOf("photon-5", "default")
	s.policy()
	s.added()
	s.imageOf("photon-5", "default", "late")
	s.inOne("early", "late", "late")

	for _, name := range names {
		if strings.HasPrefix(before[name], "third ") {
			continue
		}
		if vm := s.ready(name); vm.Status.Zone+" "+vm.Status.UniqueID != before[name] {
			t.Errorf("%s was %s, and is %s %s", name, before[name], vm.Status.Zone, vm.Status.UniqueID)
		}
	}
	if now := s.PID(serverName); now != pid {
		t.Errorf("the server was restarted: process %d, and %d at the start", now, pid)
	}
	s.begun()
}

// requestZones requests zones, by spec and by label.
func (s *zonesScene) requestZones() {
	s.create("by-label", func(vm *vmv1alpha1.VirtualMachine) { vm.Labels = map[string]string{vmv1alpha1.LabelZone: "third"} })
	s.create("by-spec", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Zone = "second" })
	s.create("nowhere", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Zone = "none" })
	for name, want := range map[string]string{"by-label": "third", "by-spec": "second"} {
		if vm := s.ready(name); vm.Status.Zone != want {
			s.Errorf("%s is in zone %s, want %s", name, vm.Status.Zone, want)
		}
	}
	s.refused("nowhere", "zone none: the Zone does not exist")
	patch := []byte(`{"spec":{"zone":"default"}}`)
	_, err := s.api.VirtualMachines("default").Patch(s.Context(), "by-spec", types.MergePatchType, patch, metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `is immutable: the virtual machine is in zone "second"`) {
		s.Errorf("to move a virtual machine to another zone: %v", err)
	}
}

// full uses up the space of a zone.
func (s *zonesScene) full() {
	s.free(1, 1<<20, "DC0_C1_DS")
	// Free capacity is cached for a short time.
	s.eventually("the zone is seen to be full", func() error {
		z, err := s.api.Zones().Get(s.Context(), "second", metav1.GetOptions{})
		if err != nil || z.Status.Free.Storage.Value() == 1<<20 {
			return err
		}
		return fmt.Errorf("%s are free", z.Status.Free.Storage)
	})
	s.create("no-space", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Zone = "second" })
	s.refused("no-space", "zone second: the swap file needs 1024 MiB on one datastore; at most 1 MiB are free")
}

// missing configures two zones with a network that only one of them has.
func (s *zonesScene) missing() {
	for zone, network := range map[string]string{"default": "Elsewhere", "third": "DC0_DVPG0"} {
		patch := fmt.Sprintf(`{"spec":{"networks":[{"name":"VM Network","network":"VM Network"},{"name":"backup","network":%q}]}}`, network)
		_, err := s.api.Zones().Patch(s.Context(), zone, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		s.must(err)
	}
	s.condition("zone default", s.zone("default"), vmv1alpha1.ConditionReady, `False NotFound vSphere has no network "Elsewhere"`)
	backup := &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0", Network: "backup"}}}
	s.create("on-backup", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Network = backup })
	if vm := s.ready("on-backup"); vm.Status.Zone != "third" {
		s.Errorf("it is in zone %s, want the one that has its network", vm.Status.Zone)
	}
	s.create("no-backup", func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.Network, vm.Labels = backup, map[string]string{vmv1alpha1.LabelZone: "default"}
	})
	s.refused("no-backup", `zone default: vSphere has no network "Elsewhere"`)
}

// removal removes a vCenter with its zone and the objects in it.
func (s *zonesScene) removal(in []string) {
	s.must(s.api.VCenters().Delete(s.Context(), "vcenter-2", metav1.DeleteOptions{}))
	s.condition("the VCenter", func() ([]metav1.Condition, error) {
		v, err := s.api.VCenters().Get(s.Context(), "vcenter-2", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return v.Status.Conditions, nil
	}, vmv1alpha1.ConditionDeleting, "True InUse waiting for the deletion of zone third")
	s.must(s.api.Zones().Delete(s.Context(), "third", metav1.DeleteOptions{}))
	s.condition("zone third", s.zone("third"), vmv1alpha1.ConditionDeleting, "True InUse waiting for the deletion of 4 virtual machines in the zone")
	s.create("too-late", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Zone = "third" })
	s.refused("too-late", "zone third: the zone is being deleted")
	for _, name := range append(in, "by-label", "on-backup") {
		s.must(s.api.VirtualMachines("default").Delete(s.Context(), name, metav1.DeleteOptions{}))
	}
	s.zoneGone("third")
	s.awaitDeleted("the VCenter", func() error {
		_, err := s.api.VCenters().Get(s.Context(), "vcenter-2", metav1.GetOptions{})
		return err
	})
	s.refused("too-late", "zone third: the Zone does not exist")
	// A VM that was never created can be deleted without a vCenter.
	for _, name := range []string{"too-late", "nowhere", "no-space", "no-backup"} {
		s.must(s.api.VirtualMachines("default").Delete(s.Context(), name, metav1.DeleteOptions{}))
		s.awaitDeleted(name, func() error {
			_, err := s.api.VirtualMachines("default").Get(s.Context(), name, metav1.GetOptions{})
			return err
		})
	}
}
