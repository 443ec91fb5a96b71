// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/access"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vcenter/policies"
)

// roles returns the documented privileges by the path of the object on which they are granted.
func roles() map[string][]string {
	all := maps.Clone(access.Required)
	for _, f := range access.Features {
		for kind, ids := range f.Privileges {
			for _, id := range ids {
				one, _, _ := strings.Cut(id, access.Or)
				all[kind] = append(slices.Clone(all[kind]), one)
			}
		}
	}
	return map[string][]string{
		"/":                          append(slices.Clone(all[access.Root]), "Cryptographer.RegisterHost"),
		"/DC0":                       {"System.Read"},
		"/DC0/vm/slipway":            all[placement.WhatFolder],
		"/DC0/vm/templates":          {"System.Read", "VirtualMachine.Provisioning.DeployTemplate", "VirtualMachine.Provisioning.Clone"},
		"/DC0/host/DC0_C0/Resources": all[placement.WhatPool],
		"/DC0/datastore/LocalDS_0":   append(slices.Clone(all[placement.WhatDatastore]), "Datastore.Browse"), // The datastore contains the library.
		"/DC0/datastore/LocalDS_1":   all[placement.WhatDatastore],
		"/DC0/network/VM Network":    all[placement.WhatNetwork],
	}
}

// grant grants the account exactly these privileges on an object.
func grant(t *testing.T, ready vcenter.Ready, path string, ids []string) {
	t.Helper()
	q := url.Values{"entity": {path}, "only": {"System.Anonymous,System.View," + strings.Join(ids, ",")}}
	simulated.Control(t, ready, http.MethodPut, "/permissions?"+q.Encode())
}

// startStoragePrivileges starts a vCenter with a key provider and an ISO image. The account has exactly the
// documented privileges.
func startStoragePrivileges(t *testing.T) (vcenter.Ready, *Provider, *loop, *vmv1alpha1.VirtualMachineImage) {
	t.Helper()
	ready := startVCenter(t)
	disc := addISO(t, ready, "installer")
	registerKeyProvider(t, ready)
	for path, ids := range roles() {
		grant(t, ready, path, ids)
	}
	p, _ := startProvider(t, ready, nil)
	allowAllDatastores(p, vmv1alpha1.ZoneStorage{Policy: policies.Silver})
	return ready, p, newLoop(t, p), disc
}

func isoVolume(name, image string) vmv1alpha1.VirtualMachineVolume {
	v := vmv1alpha1.VirtualMachineVolume{Name: name, Bus: "sata", CDROM: &vmv1alpha1.CDROMVolumeSource{}}
	if image != "" {
		v.CDROM.Image = &vmv1alpha1.VirtualMachineImageRef{Kind: "VirtualMachineImage", Name: image}
	}
	return v
}

func TestStoragePrivileges_AreSufficient(t *testing.T) {
	t.Parallel()
	ready, p, l, disc := startStoragePrivileges(t)
	for name, image := range map[string]*vmv1alpha1.VirtualMachineImage{"library": libraryImage(), "clone": templateImage()} {
		t.Run(name, func(t *testing.T) {
			req := classRequest("kept-"+name, image, "encrypted")
			id := newFirstClassDisk(t, ready)
			req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "2Gi", ""), isoVolume("media", "installer")}
			req.CDROMImages = map[string]*vmv1alpha1.VirtualMachineImage{"media": disc}
			addClaim(req, "pvc", provider.Claim{VolumeID: id, Size: 10 << 20})
			l.until("the VM runs and is compliant", func() bool {
				return isSynced(req)() && reason(&req.VM.Status, vmv1alpha1.ConditionStorageCompliant) == "True Succeeded"
			}, req)
			req.Claims["pvc"] = provider.Claim{VolumeID: id, Size: 20 << 20}
			req.Effective.Volumes[1], req.CDROMImages = isoVolume("media", ""), nil
			l.until("the disk has grown and the medium is ejected", func() bool {
				return isSynced(req)() && volumeOf(req, "pvc").Capacity.Value() == 20<<20
			}, req)
			checkNoOperation(t, p, req)
			l.remove(req)
			if got := attachedVMs(t, ready, id); len(got) != 0 {
				t.Errorf("the disk of the claim is attached to %q", got)
			}
		})
	}
	t.Run("encrypted later", func(t *testing.T) {
		req := classRequest("later", libraryImage(), "")
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
		l.until("the VM exists", func() bool {
			return reason(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded"
		}, req)
		req.Effective.StorageClass = "encrypted"
		l.until("the VM is encrypted", func() bool {
			vm := inVCenter(t, ready)["team-a/later"]
			return vm.Config != nil && vm.Config.KeyId != nil && reason(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded"
		}, req)
	})
}

// volumeOf returns the status of a volume.
func volumeOf(req *provider.Request, name string) vmv1alpha1.VirtualMachineVolumeStatus {
	for _, v := range req.VM.Status.Volumes {
		if v.Name == name {
			return v
		}
	}
	return vmv1alpha1.VirtualMachineVolumeStatus{}
}

// A condition of the VM names each revoked privilege that it needs.
func TestStoragePrivileges_AreReportedIfMissing(t *testing.T) {
	t.Parallel()
	ready, p, l, disc := startStoragePrivileges(t)
	const root, folder = "/", "/DC0/vm/slipway"
	claim := func(t *testing.T, req *provider.Request) {
		addClaim(req, "pvc", provider.Claim{VolumeID: newFirstClassDisk(t, ready), Size: 10 << 20})
	}
	drive := func(req *provider.Request, image string) {
		req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{isoVolume("media", image)}
		if req.CDROMImages = nil; image != "" {
			req.CDROMImages = map[string]*vmv1alpha1.VirtualMachineImage{"media": disc}
		}
	}
	for _, tc := range []struct {
		path, id, condition string
		// before prepares the VM with all privileges. change needs the revoked privilege.
		before, change func(*testing.T, *provider.Request)
	}{
		{root, "StorageProfile.View", vmv1alpha1.ConditionStorageReady, nil, func(_ *testing.T, r *provider.Request) { r.Effective.StorageClass = "gold" }},
		{root, "Cryptographer.ManageKeyServers", vmv1alpha1.ConditionStorageReady, nil, func(_ *testing.T, r *provider.Request) { r.Effective.StorageClass = "encrypted" }},
		{folder, "Cryptographer.Encrypt", vmv1alpha1.ConditionConfigurationSynced, func(*testing.T, *provider.Request) {}, func(_ *testing.T, r *provider.Request) { r.Effective.StorageClass = "encrypted" }},
		{folder, "Cryptographer.AddDisk", vmv1alpha1.ConditionConfigurationSynced, func(_ *testing.T, r *provider.Request) { r.Effective.StorageClass = "encrypted" }, func(_ *testing.T, r *provider.Request) {
			r.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "1Gi", "")}
		}},
		{root, "Cns.Searchable", vmv1alpha1.ConditionConfigurationSynced, nil, claim},
		{folder, "VirtualMachine.Config.AddExistingDisk", vmv1alpha1.ConditionConfigurationSynced, nil, claim},
		{folder, "VirtualMachine.Config.RemoveDisk", vmv1alpha1.ConditionConfigurationSynced, claim, func(_ *testing.T, r *provider.Request) { removeClaims(r) }},
		{"/DC0/datastore/LocalDS_0", "Datastore.FileManagement", vmv1alpha1.ConditionConfigurationSynced, claim, func(_ *testing.T, r *provider.Request) {
			c := r.Claims["pvc"]
			c.Size = 20 << 20
			r.Claims["pvc"] = c
		}},
		{folder, "VirtualMachine.Interact.SetCDMedia", vmv1alpha1.ConditionConfigurationSynced, func(_ *testing.T, r *provider.Request) { drive(r, "") }, func(_ *testing.T, r *provider.Request) { drive(r, "installer") }},
		{folder, "VirtualMachine.Interact.DeviceConnection", vmv1alpha1.ConditionConfigurationSynced, func(_ *testing.T, r *provider.Request) { drive(r, "") }, func(_ *testing.T, r *provider.Request) { drive(r, "installer") }},
		{"/DC0/datastore/LocalDS_0", "Datastore.Browse", vmv1alpha1.ConditionConfigurationSynced, func(_ *testing.T, r *provider.Request) { drive(r, "") }, func(_ *testing.T, r *provider.Request) { drive(r, "installer") }},
	} {
		t.Run(tc.id, func(t *testing.T) {
			req := classRequest(strings.ToLower(strings.ReplaceAll("lacks-"+tc.id, ".", "-")), libraryImage(), "")
			req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
			if tc.before != nil {
				tc.before(t, req)
				l.until("the VM exists", func() bool {
					return reason(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded"
				}, req)
			}
			ids := roles()[tc.path]
			grant(t, ready, tc.path, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == tc.id }))
			defer grant(t, ready, tc.path, ids)
			p.driver.invalidate()
			req.Effective = req.Effective.DeepCopy()
			tc.change(t, req)
			l.until("the privilege is named", func() bool { return strings.Contains(message(&req.VM.Status, tc.condition), tc.id) }, req)
			if got := reason(&req.VM.Status, tc.condition); !strings.HasPrefix(got, "False ") {
				t.Errorf("%s is %s", tc.condition, got)
			}
		})
	}
}
