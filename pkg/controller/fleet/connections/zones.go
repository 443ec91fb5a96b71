// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
)

// zoneSet has all zones: the Zone objects, and the default zone of the flags while no object has its name.
type zoneSet struct {
	zones    vmlisters.ZoneLister
	vcenters vmlisters.VCenterLister
	machines vmlisters.VirtualMachineLister
	// listed reports whether machines has all VMs.
	listed   cache.InformerSynced
	informer cache.SharedIndexInformer
	// synced reports whether zones and vcenters have all objects.
	synced []cache.InformerSynced
	// described is true if the flags describe the default vCenter.
	described bool
}

func newZoneSet(informers externalversions.SharedInformerFactory, described bool) *zoneSet {
	vm := informers.Vm().V1alpha1()
	return &zoneSet{
		zones: vm.Zones().Lister(), vcenters: vm.VCenters().Lister(), informer: vm.Zones().Informer(), described: described,
		machines: vm.VirtualMachines().Lister(), listed: vm.VirtualMachines().Informer().HasSynced,
		synced: []cache.InformerSynced{vm.Zones().Informer().HasSynced, vm.VCenters().Informer().HasSynced},
	}
}

// known reports whether all Zones and VCenters are read.
func (s *zoneSet) known() bool {
	return !slices.ContainsFunc(s.synced, func(synced cache.InformerSynced) bool { return !synced() })
}

// objects returns the Zones in the order of their names.
func (s *zoneSet) objects() []*vmv1alpha1.Zone {
	all, err := s.zones.List(labels.Everything())
	if err != nil {
		return nil // a lister does not return errors
	}
	slices.SortFunc(all, func(a, b *vmv1alpha1.Zone) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Choice returns the Zones in which VMs can be placed. It includes the default zone of the flags if there is no Zone
// object, or if the flags describe its vCenter too. known is false until all Zones and VCenters are read.
func (v *Manager) Choice() (all []*vmv1alpha1.Zone, known bool) { return v.zones.choice() }

// VCenterOf returns the name of the VCenter of a VM. It is empty if the VM has no zone or the zone does not exist.
func (v *Manager) VCenterOf(vm *vmv1alpha1.VirtualMachine) string { return v.zones.vcenterOf(vm) }

// choice returns the zones in which VMs can be placed. It includes the default zone of the flags if there is no Zone object, or
// if the flags describe its vCenter too.
func (s *zoneSet) choice() (all []*vmv1alpha1.Zone, known bool) {
	if !s.known() {
		return nil, false
	}
	all = s.objects()
	if s.usesFlagsZone(all) && (s.described || s.hasVCenter(vmv1alpha1.DefaultVCenter) && len(all) == 0) {
		all = append(all, flagsZone())
	}
	return all, true
}

// hasVCenter reports whether an object or the flags describe a vCenter.
func (s *zoneSet) hasVCenter(name string) bool {
	_, err := s.vcenters.Get(name)
	return err == nil || name == vmv1alpha1.DefaultVCenter && s.described
}

// usesFlagsZone reports whether no object has the name of the default zone.
func (s *zoneSet) usesFlagsZone(all []*vmv1alpha1.Zone) bool {
	return !slices.ContainsFunc(all, func(z *vmv1alpha1.Zone) bool { return z.Name == vmv1alpha1.DefaultZone })
}

// flagsZone returns the default zone of the flags. It has no UID.
func flagsZone() *vmv1alpha1.Zone {
	return &vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: vmv1alpha1.DefaultZone}}
}

// vcenterOf returns the name of the VCenter of a VM. It is empty if the VM has no zone or the zone does not exist.
func (s *zoneSet) vcenterOf(vm *vmv1alpha1.VirtualMachine) string {
	zone := provider.ZoneOf(vm)
	if zone == "" {
		return ""
	}
	if z, err := s.zones.Get(zone); err == nil {
		return z.VCenterName()
	}
	if zone == vmv1alpha1.DefaultZone {
		return vmv1alpha1.DefaultVCenter
	}
	return ""
}

// in returns the zones of a vCenter. The default zone of the flags has no spec.
func (s *zoneSet) in(vcenter string) map[string]*vmv1alpha1.ZoneSpec {
	all := s.objects()
	out := map[string]*vmv1alpha1.ZoneSpec{}
	for _, z := range all {
		if z.VCenterName() == vcenter {
			out[z.Name] = &z.Spec
		}
	}
	if vcenter == vmv1alpha1.DefaultVCenter && s.usesFlagsZone(all) && (s.described || len(all) == 0 || s.machinesIn(vmv1alpha1.DefaultZone) > 0) {
		out[vmv1alpha1.DefaultZone] = nil
	}
	return out
}

// machinesIn returns the number of VMs in a zone.
func (s *zoneSet) machinesIn(zone string) (n int) {
	all, err := s.machines.List(labels.Everything())
	if err != nil {
		return 0 // a lister does not return errors
	}
	for _, vm := range all {
		if provider.ZoneOf(vm) == zone {
			n++
		}
	}
	return n
}

// checkRead returns an error while zones or VMs are not read yet.
func (s *zoneSet) checkRead() error {
	if !s.known() || !s.listed() {
		return errors.New("the zones, or the virtual machines, are not read yet")
	}
	return nil
}

// InUse implements vcenter.VCenters.
func (v *Manager) InUse(name string) (string, error) {
	s := v.zones
	if err := s.checkRead(); err != nil {
		return "", err
	}
	var what []string
	for _, z := range s.objects() {
		if z.VCenterName() == name {
			what = append(what, "zone "+z.Name)
		}
	}
	all, err := s.machines.List(labels.Everything())
	n := 0
	for _, vm := range all {
		if s.vcenterOf(vm) == name {
			n++
		}
	}
	if n > 0 {
		what = append(what, fmt.Sprintf("%d virtual machines", n))
	}
	return conditions.JoinLimited(what, ", "), err
}

// await waits until the zones of a vCenter are known.
func (s *zoneSet) await(ctx context.Context, vcenter string) error {
	if !cache.WaitForCacheSync(ctx.Done(), s.synced...) {
		return ctx.Err()
	}
	all := s.objects()
	if vcenter == vmv1alpha1.DefaultVCenter && s.usesFlagsZone(all) && !s.described && len(all) > 0 && !cache.WaitForCacheSync(ctx.Done(), s.listed) {
		return ctx.Err()
	}
	return nil
}

// followZones updates the zones of drivers when Zones change.
func (v *Manager) followZones() error {
	_, err := v.zones.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { v.updateZones() },
		UpdateFunc: func(old, obj any) {
			if old.(*vmv1alpha1.Zone).Generation != obj.(*vmv1alpha1.Zone).Generation {
				v.updateZones()
			}
		},
		DeleteFunc: func(any) { v.updateZones() },
	})
	if err != nil {
		return fmt.Errorf("watching zones: %w", err)
	}
	return nil
}

// updateZones sets the current zones on all drivers.
func (v *Manager) updateZones() {
	v.updatingZones.Lock()
	defer v.updatingZones.Unlock()
	members, _ := v.fleet.Members()
	for name, m := range members {
		m.driver.SetZones(v.zones.in(name))
	}
	v.readers.updateZones()
}

// offer returns the free resources of a zone for a VM.
func (v *Manager) offer(ctx context.Context, zone *vmv1alpha1.Zone, req *provider.Request) provider.ZoneCheck {
	members, _ := v.fleet.Members()
	if m := members[zone.VCenterName()]; m != nil {
		return m.CheckZone(ctx, req, zone.Name)
	}
	driver, err := v.readers.of(ctx, zone.VCenterName())
	var unusable *provider.NotUsableError
	if errors.As(err, &unusable) {
		return provider.ZoneCheck{Zone: zone.Name, Refusal: err}
	}
	if err != nil {
		return provider.ZoneCheck{Zone: zone.Name, CheckErr: err}
	}
	return driver.CheckZone(ctx, engine.DesiredOf(req), zone.Name)
}
