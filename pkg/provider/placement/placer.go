// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const (
	// maxConcurrentChecks is the maximum number of virtual machines for which zones are checked concurrently.
	maxConcurrentChecks = 16
	// firstRetryDelay is how long a result without a usable zone is valid at first. It doubles with each failure up to
	// maxRetryDelay.
	firstRetryDelay = 5 * time.Second
	maxRetryDelay   = time.Minute
	// choiceTimeout is how long a choice counts if the virtual machine was not observed. Other processes manage the
	// virtual machines in the zones of other shards.
	choiceTimeout = 15 * time.Minute
	// checkTimeout is the timeout of a zone check.
	checkTimeout = 30 * time.Second
)

// Options configure a Placer.
type Options struct {
	// Zones returns all zones, including the default zone if it can be chosen. known is false until the zones are read.
	Zones func() (all []*vmv1alpha1.Zone, known bool)
	// Offer checks a zone.
	Offer func(ctx context.Context, zone *vmv1alpha1.Zone, req *provider.Request) provider.ZoneCheck
	// Hint is called after the zones were checked for a virtual machine.
	Hint func(provider.Key)
}

// Placer chooses zones for virtual machines without a zone.
type Placer struct {
	opts       Options
	checkSlots chan struct{}

	mu     sync.Mutex
	states map[provider.Key]*vmState
}

// vmState is the state of a virtual machine.
type vmState struct {
	uid types.UID
	// inputHash is a hash of the inputs of the check.
	inputHash uint64
	// running is true while zones are checked. offers are the results, and at is the time when they were received.
	running bool
	offers  []provider.ZoneCheck
	at      time.Time
	// failures is the number of consecutive checks without a usable zone.
	failures int
	// chosen is the chosen zone, and size the resources that it must reserve. Both are kept until shortly after
	// observedAt, when the virtual machine was first observed.
	chosen     string
	size       provider.Resources
	observedAt time.Time
}

// New returns a Placer.
func New(o Options) *Placer {
	return &Placer{opts: o, checkSlots: make(chan struct{}, maxConcurrentChecks), states: map[provider.Key]*vmState{}}
}

// Place chooses a zone for a virtual machine and returns it in the result until it is in status. While zones are
// checked, it returns ErrReconcileInProgress, and an event follows.
func (p *Placer) Place(ctx context.Context, req *provider.Request) (r provider.Result, err error) {
	all, known := p.opts.Zones()
	if !known {
		return r, provider.ErrUnknownState
	}
	if len(all) == 0 {
		err := fmt.Errorf("%w: VCenter %q does not exist, and no Zone exists", provider.ErrUnknownState, vmv1alpha1.DefaultVCenter)
		r.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, err.Error())
		return r, err
	}
	if predatesZones(req.VM, all) && (req.Zone == "" || req.Zone == vmv1alpha1.DefaultZone) {
		return chosenResult(vmv1alpha1.DefaultZone), nil
	}
	left, refusals := CandidateZones(req.VM, req.Zone, req.NamespaceLabels, all)
	if len(left) == 0 {
		return refusedResult(refusals, maxRetryDelay)
	}
	return p.choose(ctx, req, left, refusals)
}

// lacksPrerequisites reports whether the choice waits because the request lacks other prerequisites. Zones are checked
// in the meantime, so that all missing prerequisites are reported together.
func lacksPrerequisites(req *provider.Request) bool {
	return req.VM.Spec.InstanceUUID == "" && (!req.PrerequisitesReady || req.Effective == nil || req.Image == nil)
}

// waitingResult returns the result while the request lacks other prerequisites and a zone can be used.
func waitingResult() (r provider.Result) {
	r.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for other prerequisites before a zone is chosen")
	return r
}

// chosenResult returns the result of a choice. The create starts with the next reconcile, when the zone is in status.
func chosenResult(zone string) (r provider.Result) {
	r.Zone = zone
	r.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonCreating, "")
	return r
}

// refusedResult returns the result if no zone can be used. pause is how long it is valid.
func refusedResult(refusals []Refusal, pause time.Duration) (r provider.Result, err error) {
	status, reason, message := condition(refusals)
	r.Set(vmv1alpha1.ConditionPlacementReady, status, reason, message)
	r.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for a zone that can be used")
	return r, &provider.RequeueError{After: pause, Reason: "zones are checked again"}
}

// choose checks the zones, unless a recent result exists, and chooses one.
func (p *Placer) choose(ctx context.Context, req *provider.Request, left []*vmv1alpha1.Zone, refusals []Refusal) (provider.Result, error) {
	key, of := provider.KeyOf(req.VM), hash(req, left)
	p.mu.Lock()
	defer p.mu.Unlock()
	rec := p.states[key]
	if rec == nil || rec.uid != req.VM.UID {
		rec = &vmState{uid: req.VM.UID}
		p.states[key] = rec
	}
	switch pause := min(firstRetryDelay<<min(rec.failures, 10), maxRetryDelay); {
	case rec.chosen != "":
		return chosenResult(rec.chosen), nil
	case rec.running:
		return checkingResult(req, rec), provider.ErrReconcileInProgress
	case rec.inputHash == of && rec.offers != nil && req.Now.Sub(rec.at) < pause:
		size := provider.RequiredResources(req.Effective, req.Image)
		zone, more := Choose(rec.offers, size, p.taken(rec.offers), p.groupOf(req.Placement))
		if zone == "" {
			return refusedResult(append(refusals, more...), rec.at.Add(pause).Sub(req.Now))
		}
		if lacksPrerequisites(req) {
			r := waitingResult()
			r.Withdrawn = append(r.Withdrawn, vmv1alpha1.ConditionPlacementReady)
			return r, nil
		}
		if withVM := zoneWithVM(rec.offers); withVM == "" && req.VM.Spec.InstanceUUID != "" && (!req.PrerequisitesReady || req.Image == nil) {
			return awaitedResult(rec.at.Add(pause).Sub(req.Now))
		}
		rec.chosen, rec.size, rec.offers = zone, size, nil
		return chosenResult(zone), nil
	case rec.inputHash == of && rec.offers != nil:
		rec.failures++
	default:
		rec.failures = 0
	}
	rec.inputHash, rec.running = of, true
	go p.checkZones(context.WithoutCancel(ctx), key, rec, copyRequest(req), left)
	return checkingResult(req, rec), provider.ErrReconcileInProgress
}

// checkingResult returns the result while zones are checked. It keeps the reasons of an earlier check, which remain
// valid until the new check has ended.
func checkingResult(req *provider.Request, rec *vmState) (r provider.Result) {
	switch {
	case rec.offers != nil:
	case lacksPrerequisites(req):
		return waitingResult()
	default:
		r.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "a zone is being chosen")
	}
	return r
}

// awaitedResult returns the result for a virtual machine that must be adopted and is not in any zone.
func awaitedResult(pause time.Duration) (r provider.Result, err error) {
	r.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "no zone has a vSphere VM with the instance UUID in spec.instanceUUID")
	return r, &provider.RequeueError{After: pause, Reason: "the search for the vSphere VM in spec.instanceUUID is repeated"}
}

func zoneWithVM(offers []provider.ZoneCheck) string {
	for _, o := range offers {
		if o.HasVM {
			return o.Zone
		}
	}
	return ""
}

// checkZones checks all zones concurrently.
func (p *Placer) checkZones(ctx context.Context, key provider.Key, rec *vmState, req *provider.Request, left []*vmv1alpha1.Zone) {
	p.checkSlots <- struct{}{}
	defer func() { <-p.checkSlots }()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	offers := make([]provider.ZoneCheck, len(left))
	var all sync.WaitGroup
	for i, z := range left {
		all.Go(func() { offers[i] = p.opts.Offer(ctx, z, req) })
	}
	all.Wait()
	p.mu.Lock()
	rec.running, rec.offers, rec.at = false, offers, time.Now()
	p.mu.Unlock()
	p.opts.Hint(key)
}

// copyRequest returns a copy of req for use in another goroutine.
func copyRequest(req *provider.Request) *provider.Request {
	c := *req
	c.VM, c.Effective, c.Image = req.VM.DeepCopy(), req.Effective.DeepCopy(), req.Image.DeepCopy()
	return &c
}

// taken returns the resources that are assigned to chosen virtual machines and are still free in offers. The caller
// holds mu.
func (p *Placer) taken(offers []provider.ZoneCheck) map[string]Reserved {
	read := map[string]time.Time{}
	for _, o := range offers {
		read[o.Zone] = o.At
	}
	out := map[string]Reserved{}
	for key, rec := range p.states {
		if rec.chosen != "" && rec.observedAt.IsZero() && time.Since(rec.at) > choiceTimeout {
			delete(p.states, key)
			continue
		}
		at, asked := read[rec.chosen]
		if !asked || !rec.observedAt.IsZero() && rec.observedAt.Before(at) {
			continue
		}
		t := out[rec.chosen]
		t.Count++
		t.Resources.Memory += rec.size.Memory
		t.Resources.Storage += rec.size.Storage
		out[rec.chosen] = t
	}
	return out
}

// ObserveVM records that a virtual machine has a zone. Shortly after it is created, the free resources in vSphere
// include it, so its state is removed.
func (p *Placer) ObserveVM(vm *vmv1alpha1.VirtualMachine, now time.Time) {
	key := provider.KeyOf(vm)
	p.mu.Lock()
	defer p.mu.Unlock()
	rec := p.states[key]
	switch {
	case rec == nil || vm.Status.UniqueID == "":
	case rec.observedAt.IsZero():
		rec.observedAt = now
	case now.Sub(rec.observedAt) > maxRetryDelay:
		delete(p.states, key)
	}
}

// Forget removes the state of a deleted virtual machine.
func (p *Placer) Forget(key provider.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.states, key)
}

// predatesZones reports whether the virtual machine may have been created in the default zone before other zones
// existed.
func predatesZones(vm *vmv1alpha1.VirtualMachine, all []*vmv1alpha1.Zone) bool {
	hasDefault := false
	for _, z := range all {
		if z.UID == "" { // the default zone is configured by flags
			hasDefault = true
		} else if !vm.CreationTimestamp.Time.Before(z.CreationTimestamp.Time) {
			return false
		}
	}
	return hasDefault
}

// hash returns a hash of the inputs of a zone check.
func hash(req *provider.Request, left []*vmv1alpha1.Zone) uint64 {
	h := fnv.New64a()
	e := json.NewEncoder(h)
	for _, z := range left {
		_ = e.Encode([]any{z.Name, z.UID, z.Generation})
	}
	_ = e.Encode([]any{req.Effective, req.NamespaceLabels, req.VM.Spec.InstanceUUID})
	if req.Effective == nil {
		_ = e.Encode(provider.InlineSpec(req.VM))
	}
	_ = e.Encode(req.StorageClasses)
	for _, volume := range slices.Sorted(maps.Keys(req.Claims)) {
		_ = e.Encode(req.Claims[volume].VolumeID)
	}
	if req.Image != nil {
		_ = e.Encode(req.Image.Spec)
		_ = e.Encode(req.CloneOf)
	}
	return h.Sum64()
}
