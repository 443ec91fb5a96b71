// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

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
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/vcenter"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/vcenterevents"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/lease"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/fleet"
	placing "github.com/slipway-dev/slipway/pkg/provider/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
)

// Options configure a Manager. All fields are required except Flags.
type Options struct {
	Informers externalversions.SharedInformerFactory
	Leases    *lease.Leases
	// Host has the Secrets of VCenter objects, in SecretsNamespace.
	Host             kubernetes.Interface
	SecretsNamespace string
	// Defaults is the configuration of every vCenter, without its address and credentials.
	Defaults vsphere.Config
	// Flags is the configuration of the default vCenter from flags. It is used while no VCenter object describes the
	// default vCenter. It is nil if the flags are not set.
	Flags *vsphere.Config
	// Owner returns the ID of the store. It is called when the store is known.
	Owner func() string
	// Limits apply to the operations in each vCenter.
	Limits engine.Limits
	// Events writes events that vCenters report for VMs.
	Events *vcenterevents.Recorder
}

// Manager connects to the vCenters that VCenter objects, or the flags, describe.
type Manager struct {
	shard
	opts    Options
	fleet   *fleet.Fleet[*usedVCenter]
	zones   *zoneSet
	readers readers
	// durations measures calls and operations.
	durations *durations

	// updatingZones is held while zones are read and set on drivers, so that an older list does not overwrite a newer one.
	updatingZones sync.Mutex

	mu sync.Mutex
	// used has the descriptions of the vCenters in use, by name.
	used map[string]string
}

var (
	_ vcenter.VCenters = (*Manager)(nil)
	_ controller.Shard = (*Manager)(nil)
)

// usedVCenter is a vCenter in use.
type usedVCenter struct {
	*engine.Engine
	driver *vsphere.Driver
	// host is the host of the URL. Metrics and reports use it as the vCenter's name.
	host string
}

// New returns a Manager. It does not connect before Run and Use.
func New(o Options) (*Manager, error) {
	zones := newZoneSet(o.Informers, o.Flags != nil)
	v := &Manager{shard: shard{leases: o.Leases}, opts: o, zones: zones, durations: newDurations(), used: map[string]string{}}
	placer := placing.New(placing.Options{
		Zones: zones.choice, Offer: v.offer, Hint: func(key provider.Key) { v.fleet.Hint(key) },
	})
	v.fleet = fleet.New[*usedVCenter](zones.vcenterOf, placer)
	v.readers = readers{manager: v, byName: map[string]*reader{}}
	return v, v.followZones()
}

// Run runs until ctx is done and returns when all connections are closed.
func (v *Manager) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { v.readers.close(ctx) })
	v.fleet.Run(ctx)
	running.Wait()
}

// Provider returns the provider for VMs in the vCenters of this replica.
func (v *Manager) Provider() *fleet.Fleet[*usedVCenter] { return v.fleet }

// Shard returns the shard that divides objects among replicas by their vCenters.
func (v *Manager) Shard() controller.Shard { return v.shard }

// Described implements vcenter.VCenters.
func (v *Manager) Described(name string) bool {
	return name == vmv1alpha1.DefaultVCenter && v.opts.Flags != nil
}

// Use implements vcenter.VCenters.
func (v *Manager) Use(ctx context.Context, name string, obj *vmv1alpha1.VCenter) error {
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
	v.readers.leave(name)
	// VMs in a zone that is not known yet would not be found.
	if description != "" {
		if err := v.zones.await(ctx, name); err != nil {
			return err
		}
	}
	open := func() (*usedVCenter, error) { return v.open(name, obj) }
	if description == "" {
		open = nil
	}
	if err := v.fleet.Use(ctx, name, open); err != nil {
		return fmt.Errorf("using VCenter %s: %w", name, err)
	}
	v.updateZones() // zones may have changed since open has read them
	v.mu.Lock()
	v.used[name] = description
	v.mu.Unlock()
	return nil
}

// describe returns a text that identifies the description of a vCenter. It is empty if there is none.
func (v *Manager) describe(name string, obj *vmv1alpha1.VCenter) (string, error) {
	switch {
	case obj != nil:
		spec, err := json.Marshal(obj.Spec)
		return string(obj.UID) + string(spec), err
	case v.Described(name):
		return "flags", nil
	}
	return "", nil
}

// open prepares the use of the vCenter that obj describes, or the flags if obj is nil. The previous use must have ended.
func (v *Manager) open(name string, obj *vmv1alpha1.VCenter) (*usedVCenter, error) {
	config := v.config(obj)
	fence := v.leases.Fence(leaseOf(name))
	config.Name, config.Permit, config.Owner = name, fence, v.opts.Owner()
	config.OnEvent, config.OnResult = v.opts.Events.Of(fence.Check), v.durations.observeCalls(hostOf(config.URL))
	driver, err := vsphere.New(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to vCenter %s: %w", config.URL, err)
	}
	driver.SetZones(v.zones.in(name))
	return &usedVCenter{driver: driver, host: hostOf(config.URL), Engine: engine.New(engine.Options{
		Driver: driver, Permit: fence.Check, FindElsewhere: v.findInOthers(name), OnOperationEnd: v.durations.observeOperations(hostOf(config.URL)), Limits: v.opts.Limits,
	})}, nil
}

// config returns the configuration of the vCenter that obj, or the flags if it is nil, describes.
func (v *Manager) config(obj *vmv1alpha1.VCenter) vsphere.Config {
	if obj == nil {
		return *v.opts.Flags
	}
	secret := types.NamespacedName{Namespace: v.opts.SecretsNamespace, Name: obj.Spec.CredentialsSecretRef.Name}
	c := v.opts.Defaults
	c.URL, c.CAPEM, c.Thumbprint = obj.Spec.URL, obj.Spec.CABundle, obj.Spec.Thumbprint
	c.Credentials, c.InstanceUUID = SecretCredentials(v.opts.Host, secret), &obj.Status.InstanceUUID
	return c
}

// Observe implements vcenter.VCenters.
func (v *Manager) Observe(ctx context.Context, name string) vcenter.Observation {
	members, _ := v.fleet.Members()
	m := members[name]
	if m == nil {
		err := fmt.Errorf("the server is stopping") // otherwise the vCenter would be in use
		return vcenter.Observation{Connected: err, Ready: err, Reason: vmv1alpha1.ReasonUnreachable}
	}
	connected := m.driver.Connected(ctx)
	o := vcenter.Observation{Connected: connected, Ready: connected, Reason: vsphere.ConnectionReason(connected)}
	info := m.driver.Info()
	o.Status = vmv1alpha1.VCenterStatus{Version: info.Version, APIVersion: info.APIVersion, InstanceUUID: info.InstanceUUID}
	if connected == nil {
		o.Ready, o.Skew = m.Healthy(ctx), m.driver.SkewWarning(ctx)
	}
	m.observeConnection(name, connected, o.Ready, m.driver.Starting())
	if connected != nil {
		return o
	}
	o.Status.Session = &vmv1alpha1.VCenterSession{UserName: info.User, LoginTime: metav1.NewTime(info.LoggedIn.Truncate(time.Second))}
	if m.driver.Synced() {
		o.Status.Inventory = &vmv1alpha1.VCenterInventory{
			VirtualMachines: int32(m.driver.CountOwned()), ReadDuration: metav1.Duration{Duration: m.driver.ReadDuration().Round(time.Millisecond)},
		}
	}
	return o
}

const (
	// unreachableAfter is how long a vCenter does not answer before its VMs report it. Reconnecting takes less time. A report
	// takes a write for each VM.
	unreachableAfter = 15 * time.Second
	// unreadAfter is the same for a vCenter that answers and whose inventory cannot be read. A large one takes
	// minutes to be read again after an interruption.
	unreadAfter = 5 * time.Minute
)

// observeConnection reports to the engine whether vCenter answers and whether it is ready, which includes that its
// inventory can be read. It is not reported as unready while the inventory is read for the first time.
func (m *usedVCenter) observeConnection(name string, connected, ready error, starting bool) {
	switch {
	case connected != nil:
		m.ObserveConnection(&provider.UnreachableError{VCenter: name, Err: connected}, unreachableAfter)
	case ready == nil:
		m.ObserveConnection(nil, 0)
	case !starting:
		m.ObserveConnection(&provider.UnreachableError{VCenter: name, Err: ready}, unreadAfter)
	}
}

// Sessions returns a function for each vCenter of this replica, by host, that checks the session. known is false while the
// vCenters are not known.
func (v *Manager) Sessions() (checks map[string]func(context.Context) error, known bool) {
	members, known := v.fleet.Members()
	checks = map[string]func(context.Context) error{}
	if !v.holdsAny() {
		return checks, true
	}
	for _, m := range members {
		checks[m.host] = m.Healthy
	}
	return checks, known
}

func hostOf(sdk string) string {
	u, err := url.Parse(sdk)
	if err != nil {
		return sdk
	}
	return u.Host
}
