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

// ErrSourceBusy is returned while another operation of the source virtual machine runs. An event for the virtual
// machine follows when it ends.
var ErrSourceBusy = errors.New("another operation of the virtual machine is in progress")

// Publication is a request to create a content library item from a virtual machine.
type Publication struct {
	// NamespacedName and UID of the request. The item is found by the UID.
	types.NamespacedName
	UID types.UID
	// Source is the name of the virtual machine. VM is its object, or nil if it does not exist.
	Source types.NamespacedName
	VM     *vmv1alpha1.VirtualMachine
	// VCenter is the name of the VCenter that has the library.
	VCenter string
	// Library and Item are the names of the library and of the item in vSphere.
	Library, Item string
	// Description of the item, shown to users.
	Description string
	// Now is the time of the reconcile.
	Now time.Time
}

// Key returns the key of the request.
func (p *Publication) Key() Key {
	return Key{Kind: KindPublishRequest, NamespacedName: p.NamespacedName}
}

// Published is an item that was created, or a new version of an item.
type Published struct {
	// ItemID is the hypervisor's ID of the item.
	ItemID string
	// Version of the item's content.
	Version string
}

// PublishRefusedError is returned if the source or the target must change first.
type PublishRefusedError struct {
	// Condition is the type of the condition to set to False: SourceValid or TargetValid.
	Condition string
	// Reason of the condition.
	Reason string
	// Message is shown to users.
	Message string
}

// Error implements error.
func (e *PublishRefusedError) Error() string { return e.Message }

// Publisher creates content library items from virtual machines. Its methods never wait for an operation. An event for
// the request follows when the operation ends.
type Publisher interface {
	// Publish creates the item once per request. At most one operation runs per virtual machine. It returns the item if
	// it exists. Otherwise the error is one of:
	//
	//   - ErrReconcileInProgress while the item is created
	//   - ErrSourceBusy while another operation of the virtual machine runs
	//   - ErrTooManyOperations if no slot is free; an event follows when a slot is free
	//   - a PublishRefusedError
	//   - another failure, joined with a RequeueError if it is retried
	Publish(ctx context.Context, p *Publication) (*Published, error)
	// Withdraw interrupts the operation of a request and removes a partly created item. A complete item is kept. It
	// returns nil when the removal is complete, and ErrReconcileInProgress while the removal runs.
	Withdraw(ctx context.Context, p *Publication) error
	// ForgetPublication removes the in-memory state of a request.
	ForgetPublication(key types.NamespacedName)
}
