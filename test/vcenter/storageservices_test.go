// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/vmware/govmomi"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/policies"
	"github.com/slipway-dev/slipway/test/vcenter/volumes"
)

// policyNames returns the names of the policies, or the error of the request.
func policyNames(ctx context.Context, t *testing.T, c *govmomi.Client) (string, error) {
	t.Helper()
	service, err := pbm.NewClient(ctx, c.Client)
	if err != nil {
		return "", err
	}
	_, err = service.ProfileIDByName(ctx, policies.Gold)
	if err != nil {
		return "", err
	}
	return policies.Gold, nil
}

func TestStorageServices_BecomeUnavailableSeparately(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	v := volumeClient(ctx, t, c)
	query := func() error {
		_, err := v.QueryVolume(ctx, &cnstypes.CnsQueryFilter{})
		return err
	}
	for service, other := range map[string]bool{"policies": false, "volumes": true} {
		if err := s.Front().Away(service, true); err != nil {
			t.Fatal(err)
		}
		_, policiesErr := policyNames(ctx, t, c)
		if volumesErr := query(); (policiesErr == nil) != other || (volumesErr == nil) == other {
			t.Errorf("without %s: policies %v, volumes %v", service, policiesErr, volumesErr)
		}
		if err := s.Front().Away(service, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := policyNames(ctx, t, c); err != nil || query() != nil {
		t.Errorf("with both again: policies %v, volumes %v", err, query())
	}
	if err := s.Front().Away("none", true); err == nil || !strings.Contains(err.Error(), `"none": must be policies or volumes`) {
		t.Errorf("a service that there is not: %v", err)
	}
}

func TestStorageServices_RequirePrivileges(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	v := volumeClient(ctx, t, c)
	p := findPlaces(ctx, t, c)
	vm := create(ctx, t, c, p, machine("one"))
	id := newVolume(ctx, t, v, read(ctx, t, c, vm).Datastore[0], 10)
	root := c.ServiceContent.RootFolder
	spec := cnstypes.CnsVolumeAttachDetachSpec{VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: vm.Reference()}

	s.sight.Withhold(DefaultUsername, root, "StorageProfile.View", "VirtualMachine.Config.AddExistingDisk", "Datastore.FileManagement")
	if _, err := policyNames(ctx, t, c); lacks(err) != "StorageProfile.View" {
		t.Errorf("policies: %v", err)
	}
	if _, fault := attachVolume(ctx, t, v, spec); causedBy(fault) != "VirtualMachine.Config.AddExistingDisk" {
		t.Errorf("attach: %+v", fault)
	}
	task, err := v.ExtendVolume(ctx, []cnstypes.CnsVolumeExtendSpec{{VolumeId: spec.VolumeId, CapacityInMb: 20}})
	if _, fault := volumeResult(ctx, t, task, err); causedBy(fault) != "Datastore.FileManagement" {
		t.Errorf("extend: %+v", fault)
	}
	s.sight.Withhold(DefaultUsername, root, "Cns.Searchable")
	if _, err := v.QueryVolume(ctx, &cnstypes.CnsQueryFilter{}); lacks(err) != "Cns.Searchable" {
		t.Errorf("query: %v", err)
	}
	s.sight.Unpermit(DefaultUsername, root)
	if _, fault := attachVolume(ctx, t, v, spec); fault != nil {
		t.Errorf("attach with all privileges: %+v", fault)
	}
}

// lacks returns the privilege that an error reports as missing.
func lacks(err error) string {
	if !soap.IsSoapFault(err) {
		return ""
	}
	fault, _ := soap.ToSoapFault(err).VimFault().(types.NoPermission)
	return fault.PrivilegeId
}

// causedBy returns the privilege that a fault of a volume reports as missing.
func causedBy(fault types.BaseMethodFault) string {
	if f, ok := fault.(*cnstypes.CnsFault); ok && f.FaultCause != nil {
		fault = f.FaultCause.Fault
	}
	if f, ok := fault.(*types.NoPermission); ok {
		return f.PrivilegeId
	}
	return ""
}

func TestStorageServices_FaultsOfAVolumeDoNotAffectOthers(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	v := volumeClient(ctx, t, c)
	vm := create(ctx, t, c, findPlaces(ctx, t, c), machine("one"))
	ds := read(ctx, t, c, vm).Datastore[0]
	bad, good := newVolume(ctx, t, v, ds, 10), newVolume(ctx, t, v, ds, 10)
	s.Volumes().Fail("CnsAttachVolume", bad, &types.NotFound{})
	attach := func(id string) types.BaseMethodFault {
		_, fault := attachVolume(ctx, t, v, cnstypes.CnsVolumeAttachDetachSpec{VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: vm.Reference()})
		return fault
	}
	if attach(bad) == nil || attach(good) != nil {
		t.Error("the fault is not that of the one volume alone")
	}
	s.Volumes().Fail("CnsAttachVolume", bad, nil)
	if fault := attach(bad); fault != nil {
		t.Errorf("after its end: %T", fault)
	}
}

func TestStoragePolicies_CanBeRemovedAndFail(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	if err := s.policies.Remove(policies.Gold); err != nil {
		t.Fatal(err)
	}
	if _, err := policyNames(ctx, t, c); err == nil {
		t.Error("a deleted policy exists")
	}
	if err := s.policies.Remove(policies.Gold); err == nil || !strings.Contains(err.Error(), `"Gold": must be one of [`) {
		t.Errorf("deleted again: %v", err)
	}
	s.policies.Fail("PbmQueryProfile", &types.NoPermission{PrivilegeId: "StorageProfile.View"})
	if _, err := policyNames(ctx, t, c); lacks(err) != "StorageProfile.View" {
		t.Errorf("an injected fault: %v", err)
	}
}

// The simulator's own catalog of disks is a plain map.
func TestFirstClassDisks_AreCreatedDuringReads(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	v := volumeClient(ctx, t, c)
	ds := read(ctx, t, c, create(ctx, t, c, findPlaces(ctx, t, c), machine("one"))).Datastore[0]
	looks, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for looks.Err() == nil {
				volumes.FirstClass(&simulator.Context{Context: looks, Map: s.Registry()})
			}
		})
	}
	for range 30 {
		newVolume(ctx, t, v, ds, 1)
	}
	stop()
	readers.Wait()
	res, err := v.QueryVolume(ctx, &cnstypes.CnsQueryFilter{})
	if err != nil || len(res.Volumes) != 30 {
		t.Errorf("there are %d volumes, %v; want 30", len(res.Volumes), err)
	}
}
