// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// Kind names what an operation does, in words for messages.
type Kind string

// Kinds of operations.
const (
	Create      Kind = "create"
	Check       Kind = "check prerequisites"
	Reconfigure Kind = "reconfigure"
	PowerOn     Kind = "power on"
	PowerOff    Kind = "power off"
	Suspend     Kind = "suspend"
	Restart     Kind = "restart"
	Delete      Kind = "delete"
)

// Info describes an operation.
type Info struct {
	// Kind is what it does.
	Kind Kind
	// Detail tells operations of one kind apart, for example by power mode.
	Detail string
}

// Options configure a Runner.
type Options struct {
	// CreateSlots is the number of creates that may run at once, at least 1.
	CreateSlots int
	// OfferTimeout bounds how long a free slot is kept for one virtual machine.
	OfferTimeout time.Duration
	// Ended is called at the end of every operation. It must not block.
	Ended func(key types.NamespacedName, info Info, err error)
	// SlotFree is called for the virtual machine that is next to be created.
	// It must not block.
	SlotFree func(key types.NamespacedName)
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// running is one operation.
type running struct {
	info   Info
	cancel context.CancelFunc
}

// Runner runs operations.
type Runner struct {
	opts   Options
	base   context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	ops    map[types.NamespacedName]*running
	slots  slots
	// expiry looks for offers that nobody took, after the last one.
	expiry *time.Timer
}

// NewRunner returns a Runner; Shutdown ends it.
func NewRunner(o Options) *Runner {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.OfferTimeout <= 0 {
		o.OfferTimeout = 30 * time.Second
	}
	base, cancel := context.WithCancel(context.Background())
	return &Runner{
		opts:   o,
		base:   base,
		cancel: cancel,
		ops:    map[types.NamespacedName]*running{},
		slots:  newSlots(max(o.CreateSlots, 1), o.OfferTimeout),
	}
}

// Start runs fn as the operation of key. The context of fn carries the values
// of ctx but not its end. The channel receives fn's error and is closed. It
// fails with provider.ErrReconcileInProgress while an operation of key runs.
func (r *Runner) Start(ctx context.Context, key types.NamespacedName, info Info, fn func(context.Context) error) (<-chan error, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.startLocked(ctx, key, info, fn)
}

// StartCreate is Start for a create, which needs a slot. Without one it fails
// with provider.ErrTooManyCreates, and SlotFree is called when there is one.
func (r *Runner) StartCreate(ctx context.Context, key types.NamespacedName, priority int, fn func(context.Context) error) (<-chan error, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, busy := r.ops[key]; busy {
		return nil, provider.ErrReconcileInProgress
	}
	if !r.slots.take(key, priority, r.opts.Now()) {
		return nil, provider.ErrTooManyCreates
	}
	ch, err := r.startLocked(ctx, key, Info{Kind: Create}, fn)
	if err != nil {
		r.offerLocked(r.slots.release(r.opts.Now()))
	}
	return ch, err
}

func (r *Runner) startLocked(ctx context.Context, key types.NamespacedName, info Info, fn func(context.Context) error) (<-chan error, error) {
	if r.closed {
		return nil, context.Canceled
	}
	if _, busy := r.ops[key]; busy {
		return nil, provider.ErrReconcileInProgress
	}
	opCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(r.base, cancel)
	r.ops[key] = &running{info: info, cancel: cancel}
	result := make(chan error, 1)
	r.wg.Go(func() {
		defer cancel()
		defer stop()
		err := protect(opCtx, info, fn)
		r.end(key, info, err)
		result <- err
		close(result)
	})
	return result, nil
}

// protect turns a panic of fn into an error.
func protect(ctx context.Context, info Info, fn func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v\n%s", info.Kind, p, debug.Stack())
		}
	}()
	return fn(ctx)
}

func (r *Runner) end(key types.NamespacedName, info Info, err error) {
	r.mu.Lock()
	delete(r.ops, key)
	if info.Kind == Create {
		r.offerLocked(r.slots.release(r.opts.Now()))
	}
	r.mu.Unlock()
	if r.opts.Ended != nil {
		r.opts.Ended(key, info, err)
	}
}

// Passed says that a pass over key is over. An offered slot that it did not
// use goes to the next.
func (r *Runner) Passed(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.offerLocked(r.slots.decline(key, r.opts.Now()))
}

// Forget drops key from those that wait for a slot.
func (r *Runner) Forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slots.forget(key)
	r.offerLocked(r.slots.decline(key, r.opts.Now()))
}

func (r *Runner) offerLocked(keys []types.NamespacedName) {
	if r.opts.SlotFree == nil || r.closed || len(keys) == 0 {
		return
	}
	for _, k := range keys {
		r.opts.SlotFree(k)
	}
	if r.expiry != nil {
		r.expiry.Stop()
	}
	r.expiry = time.AfterFunc(r.opts.OfferTimeout, r.expire)
}

// expire passes offers on that nobody took: whoever was called may have been
// deleted or paused since, and nothing else may be running that would do it.
func (r *Runner) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.offerLocked(r.slots.offer(r.opts.Now()))
}

// Running returns the operation of key.
func (r *Runner) Running(key types.NamespacedName) (Info, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op, ok := r.ops[key]
	if !ok {
		return Info{}, false
	}
	return op.info, true
}

// Cancel ends the context of the operation of key, which ends as it can.
func (r *Runner) Cancel(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if op, ok := r.ops[key]; ok {
		op.cancel()
	}
}

// Shutdown refuses new operations, gives those that run until ctx is done, then
// cancels them, and returns when all have ended.
func (r *Runner) Shutdown(ctx context.Context) {
	r.mu.Lock()
	r.closed = true
	if r.expiry != nil {
		r.expiry.Stop()
	}
	r.mu.Unlock()
	done := make(chan struct{})
	go func() { r.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	r.cancel()
	<-done
}
