// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

const (
	isTrue    = metav1.ConditionTrue
	isFalse   = metav1.ConditionFalse
	isUnknown = metav1.ConditionUnknown

	succeeded = "Succeeded"
	// nothing is the user action for a reason that ends by itself.
	nothing = "Nothing."
)

// Kind has the conditions of one kind of object.
type Kind struct {
	// Names of the kind, and of others that have the same conditions.
	Names []string
	Group schema.GroupVersion
	// List is the field of status whose entries have the conditions; empty for those of status itself.
	List string
	// Open describes further conditions of the objects. It is empty if there are none.
	Open string
	// Conditions in the order of the document.
	Conditions []Condition
}

// Title returns the heading of the kind.
func (k *Kind) Title() string {
	title := strings.Join(k.Names, ", ")
	if k.List != "" {
		title += " " + k.List
	}
	return title
}

// Condition is a condition of a kind.
type Condition struct {
	Type string
	// Normal is the status of an object that needs nothing; empty for a condition that such an object does not have.
	Normal metav1.ConditionStatus
	// Means is the meaning of the normal status, or of the condition itself.
	Means string
	// Absent specifies when an object does not have the condition. It is empty if the condition is set by the first
	// reconcile.
	Absent string
	// Reasons that the condition is set with.
	Reasons []Reason
	// Copies are other conditions whose reasons it copies.
	Copies []Copy
	// Other names the source of further reasons. It is empty if there are none.
	Other string
}

// Reason is a reason of a condition.
type Reason struct {
	Status metav1.ConditionStatus
	Reason string
	// Means is the meaning, and Do is the action of the user: a sentence each.
	Means, Do string
}

// Copy copies the reasons of another condition.
type Copy struct {
	// Of is the title of a kind and the type of a condition, with a space between them.
	Of string
	// From is the status that is copied, empty for all. To is the status that is set, empty for the same status.
	From, To metav1.ConditionStatus
}

// met is the reason of most conditions that hold.
func met(means string) Reason { return Reason{isTrue, succeeded, means, nothing} }

// everyKind has the conditions that objects of all kinds may have.
var everyKind = []Condition{
	{Type: conditions.WritesWithinLimit, Means: "The controllers write the object as often as they need to.",
		Absent: "The object is not written too often.", Reasons: []Reason{
			{isFalse, conditions.ReasonTooManyWrites, "The object was written 20 times in quick succession and is now written at most every 6 s.",
				"Find the client or controller that changes the object back, for example in `metadata.managedFields`, and stop it."},
		}},
}

// Kinds has all kinds with conditions.
var Kinds = slices.Concat(machineKinds, snapshotKinds, imageKinds, fleetKinds, clusterKinds)

// find returns the condition of the table; of is the title of its kind and its type.
func find(of string) *Condition {
	for i := range Kinds {
		for j := range Kinds[i].Conditions {
			if c := &Kinds[i].Conditions[j]; Kinds[i].Title()+" "+c.Type == of {
				return c
			}
		}
	}
	return nil
}

// allows reports whether the table has the status and the reason.
func (c *Condition) allows(status metav1.ConditionStatus, reason string) bool {
	if c.Other != "" || slices.ContainsFunc(c.Reasons, func(r Reason) bool { return r.Status == status && r.Reason == reason }) {
		return true
	}
	return slices.ContainsFunc(c.Copies, func(from Copy) bool {
		of := find(from.Of)
		if of == nil || from.To != "" && from.To != status {
			return false
		}
		for _, was := range []metav1.ConditionStatus{isTrue, isFalse, isUnknown} {
			if (from.From == "" || from.From == was) && (from.To != "" || was == status) && of.allows(was, reason) {
				return true
			}
		}
		return false
	})
}

// check returns the conditions of an object, or of an entry of its status, that the table lacks.
func (k *Kind) check(all []metav1.Condition) (lacks []string) {
	for _, is := range all {
		known := slices.Concat(k.Conditions, everyKind)
		i := slices.IndexFunc(known, func(c Condition) bool { return c.Type == is.Type })
		switch {
		case i < 0 && k.Open == "":
			lacks = append(lacks, fmt.Sprintf("%s has the condition %s=%s %s, which test/reasons does not have", k.Title(), is.Type, is.Status, is.Reason))
		case i >= 0 && !known[i].allows(is.Status, is.Reason):
			lacks = append(lacks, fmt.Sprintf("%s: condition %s=%s has the reason %s, which test/reasons does not have", k.Title(), is.Type, is.Status, is.Reason))
		}
	}
	return lacks
}
