// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// Kind names what an operation does, in words for messages.
type Kind string

// Kinds of operations.
const (
	KindCreate      Kind = "create"
	KindCheck       Kind = "check prerequisites"
	KindSearch      Kind = "search"
	KindReconfigure Kind = "reconfigure"
	KindPowerOn     Kind = "power on"
	KindPowerOff    Kind = "power off"
	KindSuspend     Kind = "suspend"
	KindRestart     Kind = "restart"
	KindPromote     Kind = "promote disks"
	KindDelete      Kind = "delete"
	KindPublish     Kind = "publish"
	KindWithdraw    Kind = "withdraw what is half published"
	KindSnapshot    Kind = "take a snapshot"
	KindUnsnapshot  Kind = "remove a snapshot"
	KindRevert      Kind = "revert to a snapshot"

	KindCopyImage     = Kind(provider.ImageCopy)
	KindRemoveImage   = Kind(provider.ImageRemoval)
	KindCollectImages = Kind(provider.ImageCollection)
)

// Kinds are all of them.
var Kinds = []Kind{
	KindCreate, KindCheck, KindSearch, KindReconfigure, KindPowerOn, KindPowerOff, KindSuspend, KindRestart, KindPromote, KindDelete,
	KindPublish, KindWithdraw, KindSnapshot, KindUnsnapshot, KindRevert, KindCopyImage, KindRemoveImage, KindCollectImages,
}

// Operation is one change of one virtual machine, or of copies of an image, ready to run.
type Operation struct {
	// Kind is what it does.
	Kind Kind
	// Detail tells operations of one kind apart that are no repetition of each other:
	// the mode of a power operation, the time that asked for a restart.
	Detail string
	// Asks is true when it waits for the guest, which may take minutes and may be
	// interrupted, and not for the hypervisor.
	Asks bool
	// Changes that it makes.
	Changes []Difference
	// Run carries it out.
	Run func(ctx context.Context) error
}

// Failure sorts the errors of operations by what helps.
type Failure int

const (
	// Refused has to be put right by somebody.
	Refused Failure = iota
	// Lacking means that the hypervisor has not what a name leads to.
	Lacking
	// Stale means that the memory of the machine was not current; it is by now.
	Stale
	// Busy passes by itself.
	Busy
	// Interrupted means that the context has ended.
	Interrupted
)
