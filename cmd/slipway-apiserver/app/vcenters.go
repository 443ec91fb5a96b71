// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/vcenter"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/fleet"
	placing "github.com/slipway-dev/slipway/pkg/provider/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
)

// vcenters opens what VCenter objects, or the flags, describe.
type vcenters struct {
	shard
	deps   *controllerDeps
	fleet  *fleet.Fleet[*member]
	zones  *zoneSet
	askers askers
	// told takes what vCenters say of virtual machines.
	told *happenings
	// took measures what is asked of them.
	took *durations

	// telling is held while vCenters are told of their zones: of two who do, the one that has
	// read older ones is not the last.
	telling sync.Mutex

	mu sync.Mutex
	// used are the descriptions of those in use, by name.
	used map[string]string
}

var _ vcenter.VCenters = (*vcenters)(nil)

// member is a vCenter in use.
type member struct {
	*engine.Engine
	driver *vsphere.Driver
	// host is that of the URL, by which a vCenter is named to people.
	host string
}

func newVCenters(d *controllerDeps, zones *zoneSet) *vcenters {
	v := &vcenters{shard: shard{leases: d.leases}, deps: d, zones: zones, told: newHappenings(d.host), took: newDurations(), used: map[string]string{}}
	placer := placing.New(placing.Options{
		Zones: zones.choice, Offer: v.offer, Hint: func(key provider.Key) { v.fleet.Hint(key) },
	})
	v.fleet = fleet.New[*member](zones.vcenterOf, placer)
	v.askers = askers{used: v, byName: map[string]*asker{}}
	return v
}

// Described implements vcenter.VCenters.
func (v *vcenters) Described(name string) bool {
	return name == vmv1alpha1.DefaultVCenter && v.deps.options.VCenter.URL != ""
}

// Use implements vcenter.VCenters.
func (v *vcenters) Use(ctx context.Context, name string, obj *vmv1alpha1.VCenter) error {
	description, err := v.describe(name, obj)
	if err != nil {
		return err
	}
	v.mu.Lock()
	before, used := v.used[name]
	if used && before == description {
		v.mu.Unlock()
		return nil
	}
	delete(v.used, name)
	v.mu.Unlock()
	v.askers.leave(name)
	// What is in a zone that is not known would not be seen.
	if description != "" {
		if err := v.zones.await(ctx, name); err != nil {
			return err
		}
	}
	open := func() (*member, error) { return v.open(name, obj) }
	if description == "" {
		open = nil
	}
	if err := v.fleet.Use(ctx, name, open); err != nil {
		return fmt.Errorf("using VCenter %s: %w", name, err)
	}
	v.tellZones() // a change since open has read them was told to nobody
	v.mu.Lock()
	v.used[name] = description
	v.mu.Unlock()
	return nil
}

// describe tells two descriptions apart; that of none is empty.
func (v *vcenters) describe(name string, obj *vmv1alpha1.VCenter) (string, error) {
	switch {
	case obj != nil:
		spec, err := json.Marshal(obj.Spec)
		return string(obj.UID) + string(spec), err
	case v.Described(name):
		return "flags", nil
	}
	return "", nil
}

// open makes the member of a name that obj, or the flags if it is nil, describes. The one
// before it has ended.
func (v *vcenters) open(name string, obj *vmv1alpha1.VCenter) (*member, error) {
	o := v.deps.options
	config, err := v.config(obj)
	if err != nil {
		return nil, err
	}
	fence := v.deps.leases.Fence(leaseOf(name))
	config.Name, config.Permit = name, fence
	config.Owner = v.deps.store.ID()
	config.Happened, config.Called = v.told.of(fence.Check), v.took.called(hostOf(config.URL))
	driver, err := vsphere.New(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to vCenter %s: %w", config.URL, err)
	}
	driver.SetZones(v.zones.in(name))
	return &member{driver: driver, host: hostOf(config.URL), Engine: engine.New(engine.Options{
		Driver: driver, Permit: fence.Check, Elsewhere: v.copiesBut(name), Ended: v.took.ended(hostOf(config.URL)), Limits: engine.Limits{
			Creates: o.Controllers.ConcurrentCreates, Reconfigurations: o.Controllers.ConcurrentReconfigurations,
			PowerChanges: o.Controllers.ConcurrentPowerChanges, Deletes: o.Controllers.ConcurrentDeletes, Publishes: o.Controllers.ConcurrentPublishes,
			ImageCopies: o.Controllers.ConcurrentImageCopies,
		}})}, nil
}

// config says how to reach the vCenter that obj, or the flags if it is nil, describes.
func (v *vcenters) config(obj *vmv1alpha1.VCenter) (vsphere.Config, error) {
	o := &v.deps.options.VCenter
	if obj == nil {
		return o.config(v.deps.host)
	}
	return o.objectConfig(obj, v.deps.host)
}

// objectConfig says how to reach the vCenter of an object. Where virtual machines go in
// it, and how many calls are made at once, the flags say.
func (o *VCenterOptions) objectConfig(obj *vmv1alpha1.VCenter, host kubernetes.Interface) (vsphere.Config, error) {
	secret := types.NamespacedName{Namespace: o.SecretsNamespace, Name: obj.Spec.CredentialsSecretRef.Name}
	c := o.places()
	c.URL, c.CAPEM, c.Thumbprint = obj.Spec.URL, obj.Spec.CABundle, obj.Spec.Thumbprint
	c.Credentials, c.Installation = secretCredentials(host, secret), &obj.Status.InstanceUUID
	return c, nil
}

// Observe implements vcenter.VCenters.
func (v *vcenters) Observe(ctx context.Context, name string) vcenter.Observation {
	members, _ := v.fleet.Members()
	m := members[name]
	if m == nil {
		err := fmt.Errorf("the server is stopping") // else it would be in use
		return vcenter.Observation{Connected: err, Ready: err, Reason: vmv1alpha1.ReasonUnreachable}
	}
	connected := m.driver.Connected(ctx)
	o := vcenter.Observation{Connected: connected, Ready: connected, Reason: vsphere.Trouble(connected)}
	info := m.driver.Info()
	o.Status = vmv1alpha1.VCenterStatus{Version: info.Version, APIVersion: info.APIVersion, InstanceUUID: info.Installation}
	if connected != nil {
		return o
	}
	o.Ready, o.Skew = m.Healthy(ctx), m.driver.SkewWarning(ctx)
	o.Status.Session = &vmv1alpha1.VCenterSession{UserName: info.User, LoginTime: metav1.NewTime(info.LoggedIn.Truncate(time.Second))}
	if m.driver.Synced() {
		o.Status.Inventory = &vmv1alpha1.VCenterInventory{
			VirtualMachines: int32(m.driver.Managed()), ReadDuration: metav1.Duration{Duration: m.driver.ReadDuration().Round(time.Millisecond)},
		}
	}
	return o
}

// sessions are what asks for the health of each vCenter that this replica takes care of, by
// its host; known is false while it is not known which that are.
func (v *vcenters) sessions() (ask map[string]func(context.Context) error, known bool) {
	members, known := v.fleet.Members()
	ask = map[string]func(context.Context) error{}
	if !v.holds() {
		return ask, true
	}
	for _, m := range members {
		ask[m.host] = m.Healthy
	}
	return ask, known
}

func hostOf(sdk string) string {
	u, err := url.Parse(sdk)
	if err != nil {
		return sdk
	}
	return u.Host
}
