// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// ErrLeave is the cause of the end of an operation's context when the process ends:
// the hypervisor goes on, and nothing is taken back.
var ErrLeave = errors.New("the process ends, and leaves the operation to the hypervisor")

// Identity is everything that can name the virtual machine of an object.
type Identity struct {
	// Key is namespace and name of the object.
	Key types.NamespacedName
	// UID of the object.
	UID string
	// InstanceUUID that the virtual machine was given, in lower case.
	InstanceUUID string
	// UniqueID is the hypervisor's own ID of it, empty as long as none was seen.
	UniqueID string
	// Confirmed is the ID that it has instead of UniqueID if an administrator has confirmed
	// that; else empty.
	Confirmed string
	// BiosUUID is the one that the virtual machine was given or last had, in lower
	// case; empty if not known. It tells a virtual machine from a copy of it.
	BiosUUID string
	// Zone that the virtual machine is in.
	Zone string
	// DeletedAt is when the object was deleted, zero while it is not.
	DeletedAt time.Time
	// Attempted is true for a deleted object whose virtual machine somebody may have
	// begun to make, when nobody has seen how that ended.
	Attempted bool
	// MissingSince is when the hypervisor was first found not to show UniqueID, zero if it shows
	// it or that was not asked yet.
	MissingSince time.Time
	// NeedsEnd is true when something follows from the end of UniqueID, so that a search asks
	// the hypervisor for it.
	NeedsEnd bool
	// Copied is true when disks may have been copied for the virtual machine, which an
	// attempt that failed has left if it could not remove them.
	Copied bool
}

// State is what is known about the existence of a virtual machine.
type State int

const (
	// Unknown means that the hypervisor was not read completely, or that what was
	// read contradicts itself.
	Unknown State = iota
	// Absent means that a complete reading shows no such virtual machine.
	Absent
	// Exists means that there is a Machine, readable or not.
	Exists
)

// Ownership says whose a virtual machine is, as one object sees it.
type Ownership string

const (
	// Unowned is a virtual machine that no object has: one made by hand, for example.
	// Only an object that names it may take it over, and nobody deletes it before.
	Unowned Ownership = "Unowned"
	// Own is a virtual machine of the object.
	Own Ownership = "Own"
	// Foreign is a virtual machine of another object.
	Foreign Ownership = "Foreign"
)

// Sighting is what memory says of an Identity.
type Sighting struct {
	// State of existence.
	State State
	// Why explains Unknown where it is not that the first reading goes on.
	Why string
	// Machine, if it exists.
	Machine Machine
	// Ownership of the Machine.
	Ownership Ownership
	// Copies describe the machines that have the other names of one that is absent under its
	// unique ID: each may be that machine or a copy of it.
	Copies []string
}

// Sink hears of what happens in the hypervisor. Its methods must not block.
type Sink interface {
	// Changed says that the virtual machine of an object looks different, or is no
	// longer shown.
	Changed(key types.NamespacedName)
	// Blocked says that the virtual machine waits for a person, or no longer does. It
	// is told while an operation runs, too, for the operation is what waits.
	Blocked(key types.NamespacedName)
	// Read says that everything was read once.
	Read()
}

// Want is what an object asks for.
type Want struct {
	provider.Desired
	// Identity of the virtual machine.
	Identity Identity
	// Name that it shall have.
	Name string
	// ProviderID that it is said to have, empty for none.
	ProviderID string
	// Adopted is true for a virtual machine that was made by others and is named by
	// the object: what the object does not list stays.
	Adopted bool
	// Adapters are the device keys of the interfaces' adapters by the names of these, as
	// they were last reported.
	Adapters map[string]int32
	// PrimaryAddresses are the primary addresses that were last reported.
	PrimaryAddresses []string
	// Retried is true when an earlier attempt to create the virtual machine, by this
	// process or one before, may have left something.
	Retried bool
	// TPMPreferred is true when a preference asks for the TPM and nobody else: a
	// virtual machine that cannot have it goes without.
	TPMPreferred bool
	// GuestInfo are the names, without prefix, of the guestinfo variables to report.
	GuestInfo []string
	// NoPromotion is true when nobody wants to hear of disks that depend on others.
	NoPromotion bool
	// Record is what a new machine keeps of the object; empty for nothing.
	Record Record
	// Restarted, if not zero, is to be recorded as the time of the last restart.
	Restarted time.Time
}

// Clone returns a copy that an operation may keep.
func (w *Want) Clone() *Want {
	c := *w
	c.Effective, c.Image, c.Claims = w.Effective.DeepCopy(), w.Image.DeepCopy(), maps.Clone(w.Claims)
	c.ImageCache = w.ImageCache.DeepCopy()
	return &c
}

// Finding is the answer to a search.
type Finding string

const (
	// Found says that the virtual machine is there, that a copy of it is known to be it, or that
	// nobody can tell that it is not.
	Found Finding = "Found"
	// NotFound says that it is not shown: it may come back.
	NotFound Finding = "NotFound"
	// Destroyed says that it was destroyed, by whomever.
	Destroyed Finding = "Destroyed"
)

// Driver speaks to one hypervisor. A driver is bound to one server of it, and
// nothing in it is global.
type Driver interface {
	// Run keeps connection and memory until ctx is done, and logs out. It is called
	// once.
	Run(ctx context.Context, sink Sink)
	// Healthy returns nil while the hypervisor can be talked to and memory is current.
	Healthy(ctx context.Context) error

	// Starting is true until everything was read for the first time.
	Starting() bool
	// Synced is true while memory is current.
	Synced() bool
	// Managed is the number of virtual machines in memory that belong to objects.
	Managed() int
	// Owned lists the virtual machines in memory that belong to objects, in no order.
	Owned() []Owned
	// Record is the text of the record that the machine of a unique ID keeps, as memory has
	// it; empty for none.
	Record(uniqueID string) string
	// Look says what memory has.
	Look(id Identity) Sighting
	// Search asks the hypervisor itself, and remembers what it finds, so that Look has
	// it. Anything but Found is the word of the hypervisor. It changes nothing there.
	Search(ctx context.Context, id Identity) (Finding, error)

	// Refused says what w asks for and a new virtual machine cannot have.
	Refused(w *Want) Refusals
	// Check resolves what w needs of the hypervisor, and all of it even if some fails;
	// with kinds, only what belongs to these conditions.
	Check(ctx context.Context, w *Want, kinds ...string) Report
	// Offer says what a zone has for w, whose own zone does not count.
	Offer(ctx context.Context, w *Want, zone string) provider.Offer
	// Create makes the virtual machine, or finds what an earlier create made. What it
	// finds out about its prerequisites goes to checked.
	Create(w *Want, checked func(Report)) Operation
	// RemoveLeftovers removes what attempts to create the virtual machine have left, and what
	// it has left that was destroyed.
	RemoveLeftovers(id Identity) Operation
	// Withdraw ends what the hypervisor still does for a publication and removes what is
	// half made; what is there stays.
	Withdraw(p provider.Publication) Operation
	// Classify sorts the error of an operation.
	Classify(err error) Failure
}

// Report is the outcome of a check: every failure under the type of the condition
// that it belongs to; what was checked and did not fail is nil.
type Report map[string]error

// Err joins the failures.
func (r Report) Err() error {
	var all []error
	for _, kind := range []string{
		vmv1alpha1.ConditionPlacementReady, vmv1alpha1.ConditionStorageReady,
		vmv1alpha1.ConditionNetworkReady, vmv1alpha1.ConditionImageReady,
	} {
		if err := r[kind]; err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// NoteError in a Report is no failure: what was checked is there, and its condition says so,
// with the reason and the message of the note.
type NoteError struct {
	// Reason of the condition.
	Reason string
	// Message for people.
	Message string
}

// Error implements error.
func (e *NoteError) Error() string { return e.Message }

// NotUsableError means that a name does not lead to exactly one usable object.
type NotUsableError = provider.NotUsableError
