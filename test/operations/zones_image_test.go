// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

const onlyHere = `apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: only-here, namespace: default}
spec:
  template: {inventoryPath: templates/only-here}
`

// imageOf waits until the status of an image lists these vCenters.
func (s *zonesScene) imageOf(name string, vcenters ...string) {
	s.Helper()
	s.eventually("image "+name+" is in its vCenters", func() error {
		image, err := s.api.VirtualMachineImages("default").Get(s.Context(), name, metav1.GetOptions{})
		if err != nil || slices.Equal(image.Status.VCenters, vcenters) && conditions.IsTrue(image.Status.Conditions, vmv1alpha1.ConditionReady) {
			return err
		}
		return fmt.Errorf("it is in %v, want %v: %+v", image.Status.VCenters, vcenters, image.Status.Conditions)
	})
}

// inOne creates a template from a virtual machine of the second vCenter, and a virtual machine from that template,
// which can only be created there.
func (s *zonesScene) inOne(of, zone, vcenter string) {
	v := s.VCenterOf(2)
	client, err := vsphereclient.Login(s.Context(), v.URL, v.CAFile, v.Username, v.Password)
	s.must(err)
	defer func() { _ = client.Logout(s.Context()) }()
	finder := find.NewFinder(client.Client)
	vm, err := finder.VirtualMachine(s.Context(), "/DC0/vm/slipway/default/"+of)
	s.must(err)
	folder, err := finder.Folder(s.Context(), "/DC0/vm/templates")
	s.must(err)
	task, err := vm.Clone(s.Context(), folder, "only-here", types.VirtualMachineCloneSpec{Template: true})
	s.must(err)
	s.must(task.Wait(s.Context()))

	s.must(s.Apply(s.Context(), []byte(onlyHere)))
	s.imageOf("only-here", vcenter)
	// Any other zone has more capacity.
	s.free(1, 1<<40, "LocalDS_0", "LocalDS_1", "DC0_C1_DS")
	s.free(2, 6<<30, "LocalDS_0", "LocalDS_1")
	for _, name := range []string{"of-only-1", "of-only-2", "of-only-3"} {
		s.create(name, func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Image.Name = "only-here" })
	}
	for _, name := range []string{"of-only-1", "of-only-2", "of-only-3"} {
		if vm := s.ready(name); vm.Status.Zone != zone {
			s.Errorf("%s is in zone %s, want the one of the vCenter that has its image", name, vm.Status.Zone)
		}
	}
}
