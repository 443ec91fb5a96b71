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
	// asking bounds how many virtual machines zones are asked about at the same time.
	asking = 16
	// firstPause is how long an answer by which no zone can hold a virtual machine counts at
	// first; it doubles up to lastPause.
	firstPause = 5 * time.Second
	lastPause  = time.Minute
	// unseen is how long a choice counts whose virtual machine was not seen to be there: it is
	// another process that makes those of zones that are not this one's.
	unseen = 15 * time.Minute
	// patience bounds how long a zone is asked.
	patience = 30 * time.Second
)

// Options configure a Placer.
type Options struct {
	// Zones are all that there are, the default one among them if it is there to be chosen;
	// known is false while they are not read.
	Zones func() (all []*vmv1alpha1.Zone, known bool)
	// Offer asks a zone.
	Offer func(ctx context.Context, zone *vmv1alpha1.Zone, req *provider.Request) provider.Offer
	// Hint is called when zones were asked about a virtual machine.
	Hint func(provider.Key)
}

// Placer chooses zones for virtual machines that have none.
type Placer struct {
	opts   Options
	places chan struct{}

	mu      sync.Mutex
	records map[provider.Key]*record
}

// record is what is known of a virtual machine.
type record struct {
	uid types.UID
	// of identifies what was asked.
	of uint64
	// running is true while zones are asked; offers are their answers, since at.
	running bool
	offers  []provider.Offer
	at      time.Time
	// failed is how often no zone could hold it.
	failed int
	// chosen is the zone, size what is taken of it, from the choice until a moment after
	// madeAt, when it was first seen to be there.
	chosen string
	size   provider.Resources
	madeAt time.Time
}

// New returns a Placer.
func New(o Options) *Placer {
	return &Placer{opts: o, places: make(chan struct{}, asking), records: map[provider.Key]*record{}}
}

// Place chooses a zone for a virtual machine that has none, and returns it in the result
// until status has it. While zones are asked it returns ErrReconcileInProgress, and a hint
// follows.
func (p *Placer) Place(ctx context.Context, req *provider.Request) (r provider.Result, err error) {
	all, known := p.opts.Zones()
	if !known {
		return r, provider.ErrUnknownState
	}
	if len(all) == 0 {
		err := fmt.Errorf("%w: there is no VCenter %q, and no Zone", provider.ErrUnknownState, vmv1alpha1.DefaultVCenter)
		r.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, err.Error())
		return r, err
	}
	if before(req.VM, all) && (req.Zone == "" || req.Zone == vmv1alpha1.DefaultZone) {
		return placed(vmv1alpha1.DefaultZone), nil
	}
	left, refusals := Narrow(req.VM, req.Zone, req.NamespaceLabels, all)
	if len(left) == 0 {
		return refused(refusals, lastPause)
	}
	return p.choose(ctx, req, left, refusals)
}

// waits is true while no zone is chosen because the request lacks something else. Zones are queried meanwhile, so
// that everything that is missing is reported at the same time.
func waits(req *provider.Request) bool {
	return req.VM.Spec.InstanceUUID == "" && (!req.PrerequisitesReady || req.Effective == nil || req.Image == nil)
}

// waiting is the result meanwhile, if a zone would do.
func waiting() (r provider.Result) {
	r.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "a zone is chosen when the other conditions are met")
	return r
}

// placed is the result of a choice. The create begins with the next pass, when status has
// the zone.
func placed(zone string) (r provider.Result) {
	r.Zone = zone
	r.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonCreating, "")
	return r
}

// refused is the result of no choice, with how long that counts.
func refused(refusals []Refusal, pause time.Duration) (r provider.Result, err error) {
	status, reason, message := condition(refusals)
	r.Set(vmv1alpha1.ConditionPlacementReady, status, reason, message)
	r.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for a zone that can hold it")
	return r, &provider.RequeueError{After: pause, Reason: "zones are asked again"}
}

// choose asks the zones, unless they were a moment ago, and chooses.
func (p *Placer) choose(ctx context.Context, req *provider.Request, left []*vmv1alpha1.Zone, refusals []Refusal) (provider.Result, error) {
	key, of := provider.KeyOf(req.VM), hash(req, left)
	p.mu.Lock()
	defer p.mu.Unlock()
	rec := p.records[key]
	if rec == nil || rec.uid != req.VM.UID {
		rec = &record{uid: req.VM.UID}
		p.records[key] = rec
	}
	switch pause := min(firstPause<<min(rec.failed, 10), lastPause); {
	case rec.chosen != "":
		return placed(rec.chosen), nil
	case rec.running:
		return asked(req, rec), provider.ErrReconcileInProgress
	case rec.of == of && rec.offers != nil && req.Now.Sub(rec.at) < pause:
		size := provider.SizeOf(req.Effective, req.Image)
		zone, more := Choose(rec.offers, size, p.taken(rec.offers), p.groupOf(req.Placement))
		if zone == "" {
			return refused(append(refusals, more...), rec.at.Add(pause).Sub(req.Now))
		}
		if waits(req) {
			r := waiting()
			r.Withdrawn = append(r.Withdrawn, vmv1alpha1.ConditionPlacementReady)
			return r, nil
		}
		if has := hasIt(rec.offers); has == "" && req.VM.Spec.InstanceUUID != "" && (!req.PrerequisitesReady || req.Image == nil) {
			return awaited(rec.at.Add(pause).Sub(req.Now))
		}
		rec.chosen, rec.size, rec.offers = zone, size, nil
		return placed(zone), nil
	case rec.of == of && rec.offers != nil:
		rec.failed++
	default:
		rec.failed = 0
	}
	rec.of, rec.running = of, true
	go p.ask(context.WithoutCancel(ctx), key, rec, ownCopy(req), left)
	return asked(req, rec), provider.ErrReconcileInProgress
}

// asked returns the result while zones are queried. It does not replace the reasons that an
// earlier query has given: they stay true until the next one has ended.
func asked(req *provider.Request, rec *record) (r provider.Result) {
	switch {
	case rec.offers != nil:
	case waits(req):
		return waiting()
	default:
		r.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "a zone is being chosen")
	}
	return r
}

// awaited is the result for a virtual machine that is to be taken over and is in no zone.
func awaited(pause time.Duration) (r provider.Result, err error) {
	r.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "no zone has a vSphere VM with the instance UUID that spec.instanceUUID names")
	return r, &provider.RequeueError{After: pause, Reason: "the vSphere VM that is named is looked for again"}
}

func hasIt(offers []provider.Offer) string {
	for _, o := range offers {
		if o.Has {
			return o.Zone
		}
	}
	return ""
}

// ask asks all zones at the same time.
func (p *Placer) ask(ctx context.Context, key provider.Key, rec *record, req *provider.Request, left []*vmv1alpha1.Zone) {
	p.places <- struct{}{}
	defer func() { <-p.places }()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	offers := make([]provider.Offer, len(left))
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

// ownCopy is req for a goroutine of its own.
func ownCopy(req *provider.Request) *provider.Request {
	c := *req
	c.VM, c.Effective, c.Image = req.VM.DeepCopy(), req.Effective.DeepCopy(), req.Image.DeepCopy()
	return &c
}

// taken is what was chosen and does not show in the offers. mu is held.
func (p *Placer) taken(offers []provider.Offer) map[string]Taken {
	read := map[string]time.Time{}
	for _, o := range offers {
		read[o.Zone] = o.At
	}
	out := map[string]Taken{}
	for key, rec := range p.records {
		if rec.chosen != "" && rec.madeAt.IsZero() && time.Since(rec.at) > unseen {
			delete(p.records, key)
			continue
		}
		at, asked := read[rec.chosen]
		if !asked || !rec.madeAt.IsZero() && rec.madeAt.Before(at) {
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

// Seen takes note of a virtual machine that has a zone: what it takes shows, a moment after
// it is there, in what is free.
func (p *Placer) Seen(vm *vmv1alpha1.VirtualMachine, now time.Time) {
	key := provider.KeyOf(vm)
	p.mu.Lock()
	defer p.mu.Unlock()
	rec := p.records[key]
	switch {
	case rec == nil || vm.Status.UniqueID == "":
	case rec.madeAt.IsZero():
		rec.madeAt = now
	case now.Sub(rec.madeAt) > lastPause:
		delete(p.records, key)
	}
}

// Forget drops what is known of a virtual machine that is gone.
func (p *Placer) Forget(key provider.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.records, key)
}

// before is true for a virtual machine that may have been made in the default zone when
// there were no others.
func before(vm *vmv1alpha1.VirtualMachine, all []*vmv1alpha1.Zone) bool {
	standing := false
	for _, z := range all {
		if z.UID == "" { // It is described by flags.
			standing = true
		} else if !vm.CreationTimestamp.Time.Before(z.CreationTimestamp.Time) {
			return false
		}
	}
	return standing
}

// hash identifies what zones are asked.
func hash(req *provider.Request, left []*vmv1alpha1.Zone) uint64 {
	h := fnv.New64a()
	e := json.NewEncoder(h)
	for _, z := range left {
		_ = e.Encode([]any{z.Name, z.UID, z.Generation})
	}
	_ = e.Encode([]any{req.Effective, req.NamespaceLabels, req.VM.Spec.InstanceUUID})
	if req.Effective == nil {
		_ = e.Encode(provider.OwnSpec(req.VM))
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
