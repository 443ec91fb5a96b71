// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const (
	// cacheTTL is how long a resolved kind is cached. A changed label may go unnoticed for this time.
	cacheTTL = time.Minute
	// retryMin and retryMax are the minimum and maximum delay between failed lookups.
	retryMin = time.Second
	retryMax = time.Minute
	// maxKinds is the maximum number of cached kinds, and therefore of informers.
	maxKinds = 128
	// lookupTimeout is the timeout of one lookup, which consists of several requests.
	lookupTimeout = 10 * time.Second
)

// Options configures a Resolver. All fields except Now are required.
type Options struct {
	// OwnClient is a client of Slipway's own API.
	OwnClient dynamic.Interface
	// ManagementClient is a client of the management cluster.
	ManagementClient dynamic.Interface
	Kinds            Kinds
	// Now returns the current time. The default is time.Now.
	Now func() time.Time
}

// Resolver resolves the kinds of references and reads their objects.
type Resolver struct {
	options Options

	mu    sync.Mutex
	kinds map[schema.GroupKind]*kindEntry
}

// kindEntry is the cached result of one kind. Its lock is held during a lookup, so that there is one lookup at a time.
type kindEntry struct {
	mu sync.Mutex
	// kind is the result of the last successful lookup. Its GVK is empty if no lookup has succeeded.
	kind     Kind
	err      error
	expires  time.Time
	failures int
}

// New returns a Resolver.
func New(o Options) *Resolver {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Resolver{options: o, kinds: map[schema.GroupKind]*kindEntry{}}
}

// WithOwnClient returns a Resolver for the same kinds that uses another client for Slipway's own API.
func (r *Resolver) WithOwnClient(own dynamic.Interface) *Resolver {
	o := r.options
	o.OwnClient = own
	return New(o)
}

// Resolve returns the Kind of a group and kind. Errors are ErrKindUnknown, ErrContractUnknown or ErrUnreadable.
func (r *Resolver) Resolve(ctx context.Context, group, kind string) (Kind, error) {
	gk := schema.GroupKind{Group: group, Kind: kind}
	if k, ok := ownKind(gk, r.options.OwnClient); ok {
		return k, nil
	}
	if err := validateGroupKind(gk); err != nil {
		return Kind{}, err
	}
	a := r.entry(gk)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := r.options.Now()
	if now.Before(a.expires) {
		return a.kind, a.err
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := r.options.Kinds.lookup(ctx, gk)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return Kind{}, fmt.Errorf("%w: %s: %w", ErrUnreadable, gk, ctx.Err()) // The next caller repeats the lookup.
	}
	found.Client = r.options.ManagementClient
	a.store(found, err, now)
	return a.kind, a.err
}

// store stores the result of a lookup. A kind that was found before stays valid while it cannot be looked up again.
func (a *kindEntry) store(found Kind, err error, now time.Time) {
	if err == nil {
		a.kind, a.err, a.failures, a.expires = found, nil, 0, now.Add(cacheTTL)
		return
	}
	a.expires = now.Add(min(retryMin<<min(a.failures, 10), retryMax))
	a.failures++
	if errors.Is(err, ErrUnreadable) && !a.kind.GVK.Empty() {
		a.err = nil
		return
	}
	a.kind, a.err = Kind{}, err
}

func (r *Resolver) entry(gk schema.GroupKind) *kindEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.kinds[gk]
	if !ok {
		if len(r.kinds) >= maxKinds {
			for other := range r.kinds { // Any entry: it is looked up again when needed.
				delete(r.kinds, other)
				break
			}
		}
		a = &kindEntry{}
		r.kinds[gk] = a
	}
	return a
}

// forget removes a kind that its server no longer serves from the cache.
func (r *Resolver) forget(gk schema.GroupKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.kinds, gk)
}

// Get reads an object from its server. It returns the API's own NotFound if the object does not exist, and one of this
// package's errors if the kind or the object cannot be read.
func (r *Resolver) Get(ctx context.Context, ref Reference, namespace string) (*unstructured.Unstructured, Kind, error) {
	k, err := r.namespaced(ctx, ref)
	if err != nil {
		return nil, Kind{}, err
	}
	o, err := r.read(ctx, k, ref, namespace)
	return o, k, err
}

func (r *Resolver) namespaced(ctx context.Context, ref Reference) (Kind, error) {
	k, err := r.Resolve(ctx, ref.Group, ref.Kind)
	if err != nil {
		return Kind{}, fmt.Errorf("resolving %s: %w", ref, err)
	}
	if !k.Namespaced {
		return Kind{}, fmt.Errorf("resolving %s: %w: it is not namespaced", ref, ErrContractUnknown)
	}
	return k, nil
}

func (r *Resolver) read(ctx context.Context, k Kind, ref Reference, namespace string) (*unstructured.Unstructured, error) {
	o, err := k.Client.Resource(k.GVR).Namespace(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		return o, nil
	case IsNotFound(err):
		return nil, fmt.Errorf("reading %s of namespace %s: %w", ref, namespace, err)
	case apierrors.IsNotFound(err):
		r.forget(k.GVK.GroupKind())
		// Not wrapped: callers must not take it for a deleted object.
		return nil, fmt.Errorf("%w: %s of namespace %s: %v", ErrUnreadable, ref, namespace, err)
	}
	return nil, fmt.Errorf("%w: %s of namespace %s: %w", ErrUnreadable, ref, namespace, err)
}

// IsNotFound reports whether err means that the server has no object of this name. A server that does not serve the kind
// also answers 404, which does not mean that the object was deleted.
func IsNotFound(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
