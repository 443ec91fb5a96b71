// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetcheck

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// ManagedFolder is the inventory path of the folder for virtual machines in a
// localcluster.
const ManagedFolder = "/DC0/vm/slipway"

// Wish is the desired state of a virtual machine.
type Wish struct {
	Namespace, Name string
	// On is true if it must be powered on.
	On bool
	// VCPUs and MemoryMB, in MiB, are its size.
	VCPUs, MemoryMB int32
}

// Key is namespace/name.
func (w Wish) Key() string { return w.Namespace + "/" + w.Name }

// Checker checks one environment. It is not safe for concurrent use.
type Checker struct {
	// StoreDir is the data directory of the server's etcd.
	StoreDir string

	cluster *localcluster.Cluster
	api     versioned.Interface
	host    kubernetes.Interface

	// moIDs are the first observed vSphere VMs of objects, by UID.
	moIDs map[string]string
	// Foreign VMs, their fingerprints by name, and foreign directories.
	foreign      map[vimtypes.ManagedObjectReference]bool
	fingerprints map[string]string
	directories  map[string]bool
	// effects are the operations that took effect in vSphere, by event key. It is nil before Now.
	effects map[int32]effect
}

// New returns a checker that treats everything that now exists in vSphere as foreign.
func New(ctx context.Context, cluster *localcluster.Cluster) (*Checker, error) {
	c := &Checker{
		StoreDir: cluster.SlipwayDataDir(), cluster: cluster, moIDs: map[string]string{},
		foreign: map[vimtypes.ManagedObjectReference]bool{}, fingerprints: map[string]string{}, directories: map[string]bool{},
	}
	var err error
	if c.api, err = versioned.NewForConfig(cluster.RestConfig()); err != nil {
		return nil, fmt.Errorf("making a client of the API: %w", err)
	}
	if c.host, err = kubernetes.NewForConfig(cluster.RestConfig()); err != nil {
		return nil, fmt.Errorf("creating a client of the management cluster: %w", err)
	}
	seen := Sight{}
	if err := c.lookAtVSphere(ctx, &seen); err != nil {
		return nil, err
	}
	for _, d := range seen.directories {
		c.directories[d] = true
	}
	return c, c.noteForeign(ctx, &seen, "")
}

// Connect logs in to the vCenter of a cluster. The caller logs out. The session is not reused, because faults end all
// sessions.
func Connect(ctx context.Context, cluster *localcluster.Cluster) (*govmomi.Client, func(), error) {
	v := cluster.VCenter()
	client, err := vsphereclient.Login(ctx, v.URL, v.CAFile, v.Username, v.Password)
	if err != nil {
		return nil, nil, err
	}
	return client, func() { _ = client.Logout(context.WithoutCancel(ctx)) }, nil
}

// IsForeign reports whether a machine existed before the checker.
func (c *Checker) IsForeign(v *mo.VirtualMachine) bool { return c.foreign[v.Self] }

// AddForeign records that the VMs with this name prefix are foreign, in their current state.
func (c *Checker) AddForeign(ctx context.Context, prefix string) error {
	seen := Sight{}
	if err := c.lookAtVSphere(ctx, &seen); err != nil {
		return err
	}
	return c.noteForeign(ctx, &seen, prefix)
}

// noteForeign is AddForeign for observed VMs.
func (c *Checker) noteForeign(ctx context.Context, seen *Sight, prefix string) error {
	for _, m := range seen.machines {
		if strings.HasPrefix(m.name, prefix) {
			c.foreign[vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: m.moID}] = true
			c.directories[m.directory] = true
		}
	}
	if err := c.lookAtVSphere(ctx, seen); err != nil {
		return err
	}
	for name, is := range seen.foreign {
		if _, known := c.fingerprints[name]; !known {
			c.fingerprints[name] = is
		}
	}
	return nil
}

// Renumbered records that a foreign VM has another managed object ID. It returns false for other VMs.
func (c *Checker) Renumbered(from, to string) bool {
	ref := vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: from}
	if !c.foreign[ref] {
		return false
	}
	c.foreign[vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: to}] = true
	return true
}

// Look reads the state of all sides. It reads the API last, so that it includes objects that are created during the
// check.
func (c *Checker) Look(ctx context.Context) (Sight, error) {
	seen := Sight{}
	if err := c.lookAtVSphere(ctx, &seen); err != nil {
		return seen, err
	}
	if c.effects != nil {
		if err := c.rememberEffects(ctx); err != nil {
			return seen, err
		}
	}
	for _, look := range []func(context.Context, *Sight) error{c.lookAtHost, c.lookAtRevisions, c.lookAtAPI, c.lookAtStore} {
		if err := look(ctx, &seen); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// Note records the vSphere VM of each object, unless it is already recorded.
func (c *Checker) Note(ctx context.Context) error {
	seen := Sight{}
	if err := c.lookAtAPI(ctx, &seen); err != nil {
		return err
	}
	for _, o := range seen.objects {
		if o.moID != "" && c.moIDs[o.uid] == "" {
			c.moIDs[o.uid] = o.moID
		}
	}
	return nil
}

// Belongs records that the object with that UID now has the VM with that ID.
func (c *Checker) Belongs(uid, moID string) { c.moIDs[uid] = moID }

// Problems compares the observed state with the desired one, by Wish.Key. It expects a folder below the managed folder
// for each of the namespaces.
func (c *Checker) Problems(want map[string]Wish, namespaces []string, seen Sight) []string {
	return problems(expected{want: want, namespaces: namespaces, moIDs: c.moIDs, foreign: c.fingerprints}, seen)
}

// MachinesOf returns the IDs of the vSphere VMs whose owner is an object with that key (namespace/name).
func (s Sight) MachinesOf(key string) []string {
	var found []string
	for _, m := range s.machines {
		if strings.HasPrefix(m.owner, key+"/") {
			found = append(found, m.moID)
		}
	}
	return found
}
