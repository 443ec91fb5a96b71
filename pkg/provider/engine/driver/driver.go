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

// ErrLeave is the cause with which the contexts of operations are cancelled at shutdown. The hypervisor continues its
// tasks and nothing is undone.
var ErrLeave = errors.New("the process is shutting down; the operation continues in the hypervisor")

// Identity has all identifiers of an object's virtual machine.
type Identity struct {
	// Key is the namespace and the name of the object.
	Key types.NamespacedName
	// UID of the object.
	UID string
	// InstanceUUID is the instance UUID of the virtual machine, in lower case.
	InstanceUUID string
	// UniqueID is the hypervisor's ID of the virtual machine; empty until it was observed.
	UniqueID string
	// ConfirmedNewID is the new ID of the virtual machine, if an administrator has confirmed that it replaces UniqueID;
	// otherwise empty.
	ConfirmedNewID string
	// BiosUUID is the assigned or last observed BIOS UUID, in lower case; empty if it is not known. It distinguishes a
	// virtual machine from its copies.
	BiosUUID string
	// Zone of the virtual machine.
	Zone string
	// DeletedAt is the deletion time of the object; zero if it is not being deleted.
	DeletedAt time.Time
	// MayHaveStartedCreate is true for a deleted object if a create may have started whose outcome is not known.
	MayHaveStartedCreate bool
	// MissingSince is when UniqueID was first not visible in the hypervisor; zero if it is visible or was not checked.
	MissingSince time.Time
	// NeedsDestroyedCheck is true if a search must find out whether UniqueID was destroyed.
	NeedsDestroyedCheck bool
	// HasCopiedDisks is true if disks may have been copied for the virtual machine. A failed create may have left them
	// behind.
	HasCopiedDisks bool
}

// State is the state of existence of a virtual machine.
type State int

const (
	// Unknown means that the hypervisor was not read completely, or that the data is contradictory.
	Unknown State = iota
	// Absent means that a complete read has not found the virtual machine.
	Absent
	// Exists means that the virtual machine exists. It may not be readable.
	Exists
)

// Ownership is the owner of a virtual machine from the point of view of one object.
type Ownership string

const (
	// Unowned is a virtual machine without an object, for example one that was created manually. It can be adopted by
	// an object with its instance UUID, and is not deleted before that.
	Unowned Ownership = "Unowned"
	// Own is a virtual machine of the object.
	Own Ownership = "Own"
	// Foreign is a virtual machine of another object.
	Foreign Ownership = "Foreign"
)

// Observed is the observed state of an Identity, according to the inventory.
type Observed struct {
	// State of existence.
	State State
	// Why is the reason for Unknown, unless the first read is not complete.
	Why string
	// Machine is set if the virtual machine exists.
	Machine Machine
	// Ownership of the Machine.
	Ownership Ownership
	// Copies describe the machines that share other identifiers with an absent virtual machine. Each may be the virtual
	// machine itself or a copy.
	Copies []string
}

// Sink receives changes in the hypervisor. Its methods must not block.
type Sink interface {
	// Changed is called when the virtual machine of an object has changed or is no longer visible.
	Changed(key types.NamespacedName)
	// Blocked is called when the virtual machine starts or stops waiting for a user. It is also called during an
	// operation, because the operation waits.
	Blocked(key types.NamespacedName)
	// Read is called after each complete read.
	Read()
}

// Desired is the desired state of an object's virtual machine.
type Desired struct {
	provider.Desired
	// Identity of the virtual machine.
	Identity Identity
	// Name is the desired name.
	Name string
	// ProviderID is the desired provider ID; empty for none.
	ProviderID string
	// Adopted is true for a virtual machine that the object adopts by its instance UUID. Devices that the object does
	// not list are kept.
	Adopted bool
	// Adapters are the last reported device keys of the network adapters, by interface name.
	Adapters map[string]int32
	// PrimaryAddresses are the last reported primary addresses.
	PrimaryAddresses []string
	// Retried is true if an earlier create, by this process or an earlier one, may have left files.
	Retried bool
	// TPMPreferred is true if only a preference requests the TPM. If the TPM is not possible, the virtual machine is
	// created without it.
	TPMPreferred bool
	// GuestInfo are the names, without prefix, of the guestinfo variables to report.
	GuestInfo []string
	// NoPromotion is true if DependentDisks need not be reported, because disks are not promoted.
	NoPromotion bool
	// Record is the object record to store in a new machine; empty for none.
	Record Record
	// Restarted, if not zero, is the time to record as the last restart.
	Restarted time.Time
}

// Clone returns a copy that an operation may keep.
func (w *Desired) Clone() *Desired {
	c := *w
	c.Effective, c.Image, c.Claims = w.Effective.DeepCopy(), w.Image.DeepCopy(), maps.Clone(w.Claims)
	c.ImageCache = w.ImageCache.DeepCopy()
	return &c
}

// SearchResult is the result of a search.
type SearchResult string

const (
	// Found means that the virtual machine exists, that a copy was confirmed to be the virtual machine, or that the
	// absence cannot be confirmed.
	Found SearchResult = "Found"
	// NotFound means that the virtual machine is not visible and may reappear.
	NotFound SearchResult = "NotFound"
	// Destroyed means that any client has destroyed the virtual machine.
	Destroyed SearchResult = "Destroyed"
)

// Driver accesses one hypervisor. It is bound to one server and has no global state.
type Driver interface {
	// Run maintains the connection and the inventory until ctx is done, and then logs out. It is called once.
	Run(ctx context.Context, sink Sink)
	// Healthy returns nil while the hypervisor responds and the inventory is current.
	Healthy(ctx context.Context) error

	// Starting reports whether the first read is not complete.
	Starting() bool
	// Synced reports whether the inventory is current.
	Synced() bool
	// CountOwned returns the number of virtual machines in the inventory that have an owner.
	CountOwned() int
	// Owned returns the virtual machines in the inventory that have an owner, in no particular order.
	Owned() []Owned
	// Record returns the text of the object record that is stored in the machine with the given unique ID; empty for
	// none.
	Record(uniqueID string) string
	// Observe returns the observed state from the inventory.
	Observe(id Identity) Observed
	// Search queries the hypervisor directly and updates the inventory with the result. Results other than Found come
	// from the hypervisor. It changes nothing in the hypervisor.
	Search(ctx context.Context, id Identity) (SearchResult, error)

	// CheckDesired returns the settings in w that a new virtual machine cannot have.
	CheckDesired(w *Desired) Refusals
	// Check checks the prerequisites of w in the hypervisor. It does not stop at the first failure. If kinds are given,
	// only these conditions are checked.
	Check(ctx context.Context, w *Desired, kinds ...string) Report
	// CheckZone checks the given zone for w. It ignores the zone in w.
	CheckZone(ctx context.Context, w *Desired, zone string) provider.ZoneCheck
	// Create creates the virtual machine, or finds the one that an earlier create has created. It calls checked with
	// the results for its prerequisites.
	Create(w *Desired, checked func(Report)) Operation
	// RemoveLeftovers removes the files of failed creates, and the remaining files of a destroyed virtual machine.
	RemoveLeftovers(id Identity) Operation
	// Withdraw cancels the tasks of a publication and removes a partly created item. A complete item is kept.
	Withdraw(p provider.Publication) Operation
	// Classify returns the class of an operation's error.
	Classify(err error) Failure
}

// Report is the result of a check: the error by condition type; nil for a check that succeeded.
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

// NoteError in a Report is not a failure: the prerequisite exists. Its condition is True, with the reason and the
// message of the note.
type NoteError struct {
	// Reason of the condition.
	Reason string
	// Message is shown to users.
	Message string
}

// Error implements error.
func (e *NoteError) Error() string { return e.Message }

// NotUsableError is returned if a name does not identify exactly one usable object.
type NotUsableError = provider.NotUsableError
