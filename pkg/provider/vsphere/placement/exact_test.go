// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider"
)

func TestSpellings_ReturnsVSphereNames(t *testing.T) {
	for name, want := range map[string][]string{
		"web":                  {"web"},
		"10.20.0.0/24":         {"10.20.0.0/24", "10.20.0.0%2f24"},
		"10.20.0.0%2f24":       {"10.20.0.0%2f24", "10.20.0.0%252f24"},
		"50%":                  {"50%", "50%25"},
		`a\b`:                  {`a\b`, "a%5cb"},
		"folder/50%":           {"folder/50%", "folder/50%25", "folder%2f50%25"},
		"/DC0/network/50%":     {"/DC0/network/50%", "/DC0/network/50%25"},
		"/DC0/network/a%2fb":   {"/DC0/network/a%2fb", "/DC0/network/a%252fb"},
		"/DC0/network/app/web": {"/DC0/network/app/web"},
	} {
		if diff := cmp.Diff(want, Spellings(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// inventory returns a vCenter in which several objects have the same name, and some names contain characters that
// vSphere escapes. The simulator escapes only folder names.
func inventory(ctx context.Context, t *testing.T, c *vim25.Client) (*find.Finder, *object.Datacenter) {
	t.Helper()
	f := find.NewFinder(c)
	dc, err := f.Datacenter(ctx, "DC0")
	if err != nil {
		t.Fatal(err)
	}
	f.SetDatacenter(dc)
	folders, err := dc.Folders(ctx)
	if err != nil {
		t.Fatal(err)
	}
	done := func(task *object.Task, err error) {
		t.Helper()
		if err == nil {
			err = task.Wait(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	created := func(parent *object.Folder, name string) *object.Folder {
		t.Helper()
		made, err := parent.CreateFolder(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	groups := func(in *object.Folder, of string, names ...string) {
		t.Helper()
		done(in.CreateDVS(ctx, types.DVSCreateSpec{ConfigSpec: &types.VMwareDVSConfigSpec{DVSConfigSpec: types.DVSConfigSpec{Name: of}}}))
		dvs, err := f.Network(ctx, of)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			done(dvs.(*object.DistributedVirtualSwitch).AddPortgroup(ctx, []types.DVPortgroupConfigSpec{{Name: name, NumPorts: 1}}))
		}
	}
	groups(created(folders.NetworkFolder, "a"), "switch-a", "review-app", "10.20.0.0%2f24")
	groups(created(folders.NetworkFolder, "b"), "switch-b", "review-app", "50%25", "web")
	done(created(folders.VmFolder, "vms 1/2").CreateVM(ctx, types.VirtualMachineConfigSpec{
		Name: "template/1", GuestId: "otherGuest", Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
	}, firstPool(ctx, t, f), nil))
	for _, host := range []string{"DC0_C0", "DC0_H0"} {
		root, err := f.ResourcePool(ctx, host+"/Resources")
		if err == nil {
			_, err = root.Create(ctx, "prod", types.DefaultResourceConfigSpec())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return f, dc
}

func firstPool(ctx context.Context, t *testing.T, f *find.Finder) *object.ResourcePool {
	t.Helper()
	pool, err := f.ResourcePool(ctx, "DC0_C0/Resources")
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// outcome returns the reason and message of the error, or the inventory path of the object.
func outcome(path string, err error) string {
	if err == nil {
		return path
	}
	c := provider.Unusable(err)
	return c.Reason + ": " + c.Message
}

func TestFindOne_FindsNamesAsShownByVSphere(t *testing.T) {
	model := simulator.VPX()
	model.Datastore = 2
	simulator.Test(func(ctx context.Context, c *vim25.Client) {
		f, dc := inventory(ctx, t, c)
		at := func(o object.Reference) string {
			path, err := find.InventoryPath(ctx, c, o.Reference())
			if err != nil {
				t.Fatal(err)
			}
			return path
		}
		search := map[string]func(name string) string{
			"network": func(name string) string {
				n, err := findOne(ctx, c, WhatNetwork, name, "*", f.NetworkList)
				if err != nil {
					return outcome("", err)
				}
				return at(n)
			},
			"datastore": func(name string) string {
				ds, err := findOne(ctx, c, WhatDatastore, name, "*", f.DatastoreList)
				if err != nil {
					return outcome("", err)
				}
				return at(ds)
			},
			"pool": func(name string) string {
				pool, err := findOne(ctx, c, WhatPool, name, rootPools, f.ResourcePoolList)
				if err != nil {
					return outcome("", err)
				}
				return at(pool)
			},
			"folder": func(name string) string {
				ref, path, err := FindAtPath(ctx, c, WhatFolder, vmPaths(dc, name))
				if err == nil && ref == nil {
					return "none"
				}
				return outcome(path, err)
			},
		}
		for _, tc := range []struct{ what, name, want string }{
			{"network", "web", "/DC0/network/b/web"},
			{"network", "10.20.0.0/24", "/DC0/network/a/10.20.0.0%2f24"},
			{"network", "10.20.0.0%2f24", "/DC0/network/a/10.20.0.0%2f24"},
			{"network", "/DC0/network/a/10.20.0.0%2f24", "/DC0/network/a/10.20.0.0%2f24"},
			{"network", "50%", "/DC0/network/b/50%25"},
			{"network", "b/50%", "/DC0/network/b/50%25"},
			{"network", "/DC0/network/b/50%", "/DC0/network/b/50%25"},
			{"network", "a/review-app", "/DC0/network/a/review-app"},
			{"network", "/DC0/network/b/review-app", "/DC0/network/b/review-app"},
			{"network", "10.20.0.0/25", `NotFound: vSphere has no network "10.20.0.0/25"`},
			{"network", "review-app", `Invalid: vSphere has 2 networks with the name "review-app": use an inventory path: /DC0/network/a/review-app, /DC0/network/b/review-app`},
			{"pool", "prod", `Invalid: vSphere has 2 resource pools with the name "prod": use an inventory path: /DC0/host/DC0_C0/Resources/prod, /DC0/host/DC0_H0/Resources/prod`},
			{"pool", "", `Invalid: vSphere has more than one resource pool: specify one: /DC0/host/DC0_C0/Resources, /DC0/host/DC0_H0/Resources`},
			{"datastore", "", `Invalid: vSphere has more than one datastore: specify one: /DC0/datastore/LocalDS_0, /DC0/datastore/LocalDS_1`},
			{"datastore", "LocalDS_1", "/DC0/datastore/LocalDS_1"},
			{"folder", "vms 1/2", "/DC0/vm/vms 1%2f2"},
			{"folder", "/DC0/vm/vms 1%2f2", "/DC0/vm/vms 1%2f2"},
			{"folder", "vms 1%2f2/template%2f1", "/DC0/vm/vms 1%2f2/template%2f1"},
			{"folder", "vms 1/3", "none"},
		} {
			if got := search[tc.what](tc.name); got != tc.want {
				t.Errorf("%s %q:\n got %s\nwant %s", tc.what, tc.name, got, tc.want)
			}
		}
	}, model)
}

// With NSX, port groups of one switch can have the same name.
func TestAmbiguousError_ListsIDsOfObjectsWithOnePath(t *testing.T) {
	simulator.Test(func(ctx context.Context, c *vim25.Client) {
		f, _ := inventory(ctx, t, c)
		n, err := f.Network(ctx, "web")
		if err != nil {
			t.Fatal(err)
		}
		ref := n.Reference()
		err = AmbiguousError(ctx, c, WhatNetwork, "web", slices.Repeat([]types.ManagedObjectReference{ref}, 12))
		var unusable *NotUsableError
		const id = "DistributedVirtualPortgroup:"
		want := `vSphere has 12 networks with the name "web": use a managed object ID: `
		for i := range 10 {
			if i > 0 {
				want += ", "
			}
			want += id + ref.Value
		}
		want += " and 2 more"
		if !errors.As(err, &unusable) || unusable.Missing || unusable.Message != want {
			t.Errorf("%v, want %s", err, want)
		}
		if found, err := findOne(ctx, c, WhatNetwork, id+ref.Value, "*", f.NetworkList); err != nil || found.Reference() != ref {
			t.Errorf("by its ID: %v, %v; want %s", found, err, ref)
		}
	})
}
