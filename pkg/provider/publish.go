// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// KindPublishRequest is the kind of requests to publish a virtual machine.
const KindPublishRequest Kind = "VirtualMachinePublishRequest"

// ErrSourceBusy means that another operation of the virtual machine runs that is to be
// published. Its end is followed by a hint for the virtual machine.
var ErrSourceBusy = errors.New("another operation of the virtual machine is in progress")

// Publication asks for an item of a content library that is made from a virtual machine.
type Publication struct {
	// NamespacedName of the request, and its UID, by which what was made for it is found.
	types.NamespacedName
	UID types.UID
	// Source is the name of the virtual machine, and VM the object; nil if there is none.
	Source types.NamespacedName
	VM     *vmv1alpha1.VirtualMachine
	// VCenter is the name of the VCenter that has the library.
	VCenter string
	// Library and Item are the names of the library and of the item in vSphere.
	Library, Item string
	// Description of the item for people.
	Description string
	// Now is the time of the pass.
	Now time.Time
}

// Key of the request.
func (p *Publication) Key() Key {
	return Key{Kind: KindPublishRequest, NamespacedName: p.NamespacedName}
}

// Published is an item that was made, or the new version of one.
type Published struct {
	// ItemID is the hypervisor's ID of the item.
	ItemID string
	// Version of its content.
	Version string
}

// PublishRefusedError means that something about source or target has to change first.
type PublishRefusedError struct {
	// Condition that does not hold: SourceValid or TargetValid.
	Condition string
	// Reason of the condition.
	Reason string
	// Message for people.
	Message string
}

// Error implements error.
func (e *PublishRefusedError) Error() string { return e.Message }

// Publisher makes items of content libraries from virtual machines. Its methods never wait
// for that; the end of what they begin is followed by a hint for the request.
type Publisher interface {
	// Publish makes the item, once for each request, and at most one thing at a time of
	// one virtual machine. It returns what was made when it is there. Until then the error is
	// ErrReconcileInProgress while it is made, ErrSourceBusy, ErrTooManyOperations when
	// others come first, which a hint follows, a PublishRefusedError, or another failure,
	// joined with a RequeueError where it is tried again.
	Publish(ctx context.Context, p *Publication) (*Published, error)
	// Withdraw ends what runs for a request and removes what is half made. An item that is
	// there stays. It returns nil when nothing is left to do, and ErrReconcileInProgress
	// while it is being done.
	Withdraw(ctx context.Context, p *Publication) error
	// ForgetPublication drops what is kept in memory for a request.
	ForgetPublication(key types.NamespacedName)
}
