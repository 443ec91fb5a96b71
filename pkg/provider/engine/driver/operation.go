// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// Kind is the kind of an operation, as used in messages.
type Kind string

// Kinds of operations.
const (
	KindCreate         Kind = "create"
	KindCheck          Kind = "check prerequisites"
	KindSearch         Kind = "search"
	KindReconfigure    Kind = "reconfigure"
	KindPowerOn        Kind = "power on"
	KindPowerOff       Kind = "power off"
	KindSuspend        Kind = "suspend"
	KindRestart        Kind = "restart"
	KindPromote        Kind = "promote disks"
	KindDelete         Kind = "delete"
	KindPublish        Kind = "publish"
	KindWithdraw       Kind = "remove a partly published item"
	KindSnapshot       Kind = "take a snapshot"
	KindRemoveSnapshot Kind = "remove a snapshot"
	KindRevert         Kind = "revert to a snapshot"

	KindCopyImage     = Kind(provider.ImageCopy)
	KindRemoveImage   = Kind(provider.ImageRemoval)
	KindCollectImages = Kind(provider.ImageCollection)
)

// Kinds are all kinds of operations.
var Kinds = []Kind{
	KindCreate, KindCheck, KindSearch, KindReconfigure, KindPowerOn, KindPowerOff, KindSuspend, KindRestart, KindPromote, KindDelete,
	KindPublish, KindWithdraw, KindSnapshot, KindRemoveSnapshot, KindRevert, KindCopyImage, KindRemoveImage, KindCollectImages,
}

// Operation is a prepared change of one virtual machine or of copies of an image.
type Operation struct {
	// Kind of the operation.
	Kind Kind
	// Detail distinguishes operations of the same kind that are not repetitions of each other, such as the mode of a
	// power operation or the time of a requested restart.
	Detail string
	// WaitsForGuest is true if the operation waits for the guest. It may take minutes and may be interrupted.
	WaitsForGuest bool
	// Changes to apply.
	Changes []Difference
	// Run runs the operation.
	Run func(ctx context.Context) error
}

// Failure classifies the errors of operations by what resolves them.
type Failure int

const (
	// Refused means that a user must fix the cause.
	Refused Failure = iota
	// NotFoundFailure means that a referenced object does not exist in the hypervisor.
	NotFoundFailure
	// Stale means that the inventory was outdated when the operation started. It is up to date now.
	Stale
	// Busy means that the failure is temporary.
	Busy
	// Interrupted means that the context was cancelled.
	Interrupted
)
