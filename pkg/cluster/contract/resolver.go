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
	// keep is how long an answer holds: as long as a changed label may go unnoticed.
	keep = time.Minute
	// retryFirst and retryMost bound the growing delay of a question that was not answered.
	retryFirst = time.Second
	retryMost  = time.Minute
	// maxKinds bounds the answers that are kept, and with them the informers.
	maxKinds = 128
	// askTimeout bounds what one question takes: some requests to the host cluster.
	askTimeout = 10 * time.Second
)

// Options is what a Resolver needs; all are required but Now.
type Options struct {
	// Own reaches our own API.
	Own dynamic.Interface
	// Host reaches the host cluster, and asks it for its kinds.
	Host  dynamic.Interface
	Kinds Kinds
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Resolver knows the kinds that objects refer to.
type Resolver struct {
	options Options

	mu      sync.Mutex
	answers map[schema.GroupKind]*answer
}

// answer is what is known of one kind. Its lock is held while it is asked for, so that it is
// asked for once.
type answer struct {
	mu sync.Mutex
	// kind is the last one that was found, with a GVK if one was.
	kind     Kind
	err      error
	until    time.Time
	failures int
}

// New makes a Resolver that knows our own kinds.
func New(o Options) *Resolver {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Resolver{options: o, answers: map[schema.GroupKind]*answer{}}
}

// As returns a Resolver of the same kinds that reaches our own API by another client.
func (r *Resolver) As(own dynamic.Interface) *Resolver {
	o := r.options
	o.Own = own
	return New(o)
}

// Resolve tells what is known of a kind. Its error is one of ErrKindUnknown,
// ErrContractUnknown and ErrUnread.
func (r *Resolver) Resolve(ctx context.Context, group, kind string) (Kind, error) {
	gk := schema.GroupKind{Group: group, Kind: kind}
	if k, ok := ownKind(gk, r.options.Own); ok {
		return k, nil
	}
	if err := check(gk); err != nil {
		return Kind{}, err
	}
	a := r.answer(gk)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := r.options.Now()
	if now.Before(a.until) {
		return a.kind, a.err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	found, err := r.options.Kinds.find(ctx, gk)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return Kind{}, fmt.Errorf("%w: %s: %w", ErrUnread, gk, ctx.Err()) // Who asks next asks again.
	}
	found.Client = r.options.Host
	a.learn(found, err, now)
	return a.kind, a.err
}

// learn keeps an answer. What was found before holds on while the question cannot be
// answered again.
func (a *answer) learn(found Kind, err error, now time.Time) {
	if err == nil {
		a.kind, a.err, a.failures, a.until = found, nil, 0, now.Add(keep)
		return
	}
	a.until = now.Add(min(retryFirst<<min(a.failures, 10), retryMost))
	a.failures++
	if errors.Is(err, ErrUnread) && !a.kind.GVK.Empty() {
		a.err = nil
		return
	}
	a.kind, a.err = Kind{}, err
}

func (r *Resolver) answer(gk schema.GroupKind) *answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.answers[gk]
	if !ok {
		if len(r.answers) >= maxKinds {
			for other := range r.answers { // any one: it is only asked for again
				delete(r.answers, other)
				break
			}
		}
		a = &answer{}
		r.answers[gk] = a
	}
	return a
}

// forget has a kind asked for again: its server does not know it any more.
func (r *Resolver) forget(gk schema.GroupKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.answers, gk)
}

// Get reads an object from its server. An object that is not there is the API's own NotFound;
// all that can be said when kind or object cannot be read is one of the errors of this package.
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
	case IsGone(err):
		return nil, fmt.Errorf("reading %s of namespace %s: %w", ref, namespace, err)
	case apierrors.IsNotFound(err):
		r.forget(k.GVK.GroupKind())
		// Not wrapped: it must not be taken for the object's being gone.
		return nil, fmt.Errorf("%w: %s of namespace %s: %v", ErrUnread, ref, namespace, err)
	}
	return nil, fmt.Errorf("%w: %s of namespace %s: %w", ErrUnread, ref, namespace, err)
}

// IsGone is true for the answer of a server that knows the kind and has no object of the
// name. A server that does not know the kind (any more) answers 404 too, and has said nothing
// of the object.
func IsGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
