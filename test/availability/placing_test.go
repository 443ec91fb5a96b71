// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster"
)

// controllersLease is the Lease of the replica that chooses zones.
const controllersLease = "slipway-controllers"

// The replica that chooses zones queries vCenters that other replicas manage, and these replicas create the VMs. If
// it dies, another replica chooses.
func TestPlacement_UsesVCentersOfOtherReplicas(t *testing.T) {
	t.Parallel()
	s := newSceneWith(t, func(o *localcluster.Options) { o.Zones, o.VCenters = true, 3 },
		"--etcd-servers="+members(t), "--etcd-unsafe-no-fsync=false")
	replicas := s.three()
	s.image()
	vcenterOf := map[string]string{"default": "default", "second": "default", "third": "vcenter-2", "fourth": "vcenter-2", "fifth": "vcenter-3", "sixth": "vcenter-3"}
	leases := map[string]string{}
	for _, vcenter := range vcenterOf {
		leases["slipway-vcenter-"+vcenter] = vcenter
	}
	holders, chooser := s.spread(leases, replicas), s.holds(controllersLease, replicas)
	if !sharedWith(holders, chooser) && chooser == 0 {
		// The first replica was alone long enough to hold all Leases, as can happen on a busy machine. When it stops,
		// it releases them to the two running replicas.
		if err := s.RestartSlipway(t.Context()); err != nil {
			t.Fatal(err)
		}
		holders, chooser = s.spread(leases, replicas), s.holds(controllersLease, replicas)
	}
	if !sharedWith(holders, chooser) {
		t.Fatalf("the replica that chooses zones manages all vCenters: %v", holders)
	}
	client := s.client(replicas[chooser].direct)
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprintf("anywhere-%d", i))
		s.applyOn(client, names[i], "")
	}
	s.readyOn(client, names...)
	s.in(client, vcenterOf, names...)
	s.describedIn(client, "default", "vcenter-2", "vcenter-3")
	s.fitsNowhere(client, vcenterOf)
	for _, r := range replicas {
		s.knowsOfOrphans(r, len(leases))
		s.showsConsoles(s.client(r.direct), names...)
	}

	if err := replicas[chooser].kill(); err != nil {
		t.Fatal(err)
	}
	left := slices.Delete(slices.Clone(replicas), chooser, chooser+1)
	client = s.client(left[0].direct)
	for i := range 3 {
		names = append(names, fmt.Sprintf("after-%d", i))
		s.applyOn(client, names[6+i], "")
	}
	s.readyOn(client, names...)
	s.in(client, vcenterOf, names...)
	t.Logf("replica %d chose zones, and replica %d does now", chooser, s.holds(controllersLease, left))
}

// sharedWith reports whether replicas other than the given one hold Leases.
func sharedWith(holders map[string]int, one int) bool {
	for _, holder := range holders {
		if holder != one {
			return true
		}
	}
	return false
}

// showsConsoles checks that any replica serves consoles and screenshots of VMs, whichever replica manages them.
func (s *scene) showsConsoles(client versioned.Interface, names ...string) {
	s.Helper()
	for _, name := range names {
		s.eventually("a console and a picture of "+name, func() error { // a replica that has just started returns 503
			got, err := client.VmV1alpha1().VirtualMachines(namespace).Console(s.Context(), name, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			if got.Status.Ticket == "" || !strings.HasSuffix(got.Status.URL, "/ticket/"+got.Status.Ticket) {
				return fmt.Errorf("the URL of %s has no ticket", name)
			}
			picture, err := client.VmV1alpha1().VirtualMachines(namespace).Screenshot(s.Context(), name)
			if err == nil && len(picture) == 0 {
				err = fmt.Errorf("the picture of %s is empty", name)
			}
			return err
		})
	}
}

// in checks that each VM was created once, in the vCenter of its zone.
func (s *scene) in(client versioned.Interface, vcenterOf map[string]string, names ...string) {
	s.Helper()
	want := map[string]int{}
	for _, name := range names {
		vm, err := client.VmV1alpha1().VirtualMachines(namespace).Get(s.Context(), name, metav1.GetOptions{})
		if err != nil {
			s.Fatal(err)
		}
		want[vcenterOf[vm.Status.Zone]]++
	}
	for n, vcenter := range []string{"default", "vcenter-2", "vcenter-3"} {
		if got := s.powerCalls(n + 1); want[vcenter] == 0 || got != fmt.Sprintf("%d on, 0 off", want[vcenter]) {
			s.Errorf("in vCenter %s VMs were powered %s; by their zones they are %v", vcenter, got, want)
		}
	}
}

// describedIn waits until the image status lists the vCenters.
func (s *scene) describedIn(client versioned.Interface, vcenters ...string) {
	s.Helper()
	s.eventually("the image is described", func() error {
		image, err := client.VmV1alpha1().VirtualMachineImages(namespace).Get(s.Context(), "photon-5", metav1.GetOptions{})
		if err == nil && !cmp.Equal(image.Status.VCenters, vcenters) {
			err = fmt.Errorf("it is in %v, want %v: %+v", image.Status.VCenters, vcenters, image.Status.Conditions)
		}
		return err
	})
}

// fitsNowhere creates a VM that no zone has enough capacity for, and waits until its condition lists every zone.
func (s *scene) fitsNowhere(client versioned.Interface, zones map[string]string) {
	s.Helper()
	memory := resource.MustParse("1Ti")
	_, err := client.VmV1alpha1().VirtualMachines(namespace).Create(s.Context(), &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: "huge"},
		Spec: vmv1alpha1.VirtualMachineSpec{
			CPU: &vmv1alpha1.VirtualMachineCPU{Sockets: 1}, Memory: &vmv1alpha1.VirtualMachineMemory{Guest: &memory},
			Image: &vmv1alpha1.VirtualMachineImageRef{Name: "photon-5"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	s.eventually("all zones reject a VM that is too large", func() error {
		vm, err := client.VmV1alpha1().VirtualMachines(namespace).Get(s.Context(), "huge", metav1.GetOptions{})
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionPlacementReady)
		for zone := range zones {
			if c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "zone "+zone+": 1024 GiB of memory is requested; the largest host has") {
				return fmt.Errorf("PlacementReady is %+v, and its message does not list zone %s", c, zone)
			}
		}
		return nil
	})
}

// knowsOfOrphans checks that a replica reports, for each vCenter, whether it knows its orphans.
func (s *scene) knowsOfOrphans(r replica, vcenters int) {
	s.Helper()
	s.eventually("a report of orphans", func() error {
		code, _, text := s.ask(r.direct, orphans.Path)
		var report orphans.Report
		if code == http.StatusServiceUnavailable {
			return nil // it manages no vCenter
		}
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			return fmt.Errorf("%d %s", code, text)
		}
		if covered := strings.Split(report.VCenter, ", "); len(covered)+len(report.Unknown) != vcenters || len(report.Orphans) != 0 {
			return fmt.Errorf("the %s replica reports %+v", r.name, report)
		}
		return nil
	})
}
