// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Refusal is why a virtual machine is not made in a zone.
type Refusal struct {
	// Zone is its name.
	Zone string
	// Err is why.
	Err error
	// Unknown is true if the zone could not be asked.
	Unknown bool
}

// Narrow returns the zones that a virtual machine whose namespace has these labels can be
// made in, and why not in others: all of them, or the one that it asks for, or else the one that
// is asked for in its place.
func Narrow(vm *vmv1alpha1.VirtualMachine, inPlace string, labels map[string]string, all []*vmv1alpha1.Zone) (left []*vmv1alpha1.Zone, refusals []Refusal) {
	asked := cmp.Or(vm.AsksForZone(), inPlace)
	refuse := func(zone string, unknown bool, err error) {
		refusals = append(refusals, Refusal{Zone: zone, Err: err, Unknown: unknown})
	}
	if label := vm.Labels[vmv1alpha1.LabelZone]; label != "" && label != asked {
		refuse(label, false, &provider.NotUsableError{Message: fmt.Sprintf("the label %s asks for it, and spec.zone for %q", vmv1alpha1.LabelZone, asked)})
		return nil, refusals
	}
	found := false
	for _, z := range all {
		if asked != "" && z.Name != asked {
			continue
		}
		found = true
		selects, err := provider.Selects(z.Spec.NamespaceSelector, labels)
		switch {
		case err != nil:
			refuse(z.Name, false, err)
		case z.DeletionTimestamp != nil:
			refuse(z.Name, false, &provider.NotUsableError{Message: "it is being deleted"})
		case !selects && labels == nil:
			refuse(z.Name, true, errors.New("the labels of the namespace are not known"))
		case !selects:
			refuse(z.Name, false, &provider.NotUsableError{NotAllowed: true, Message: "its namespaceSelector does not select the namespace " + vm.Namespace})
		default:
			left = append(left, z)
		}
	}
	switch {
	case !found && asked != "":
		refuse(asked, false, &provider.NotUsableError{Message: "there is no such Zone", Missing: true})
	case !found:
		refuse("", false, &provider.NotUsableError{Message: "there is no Zone", Missing: true})
	}
	return left, refusals
}

// Choose returns the zone that a virtual machine of a size is made in, by what each offers
// and what is taken of it already, and empty if none can hold it; and why not the others.
//
// One that has the virtual machine already is it. Else it is one of those that can hold it
// and that group, which may be nil, lets it be in: the one that DRS rates best, if DRS rates
// all of them, and among equals the one that keeps the largest share of what it has least of.
func Choose(offers []provider.Offer, size provider.Resources, taken map[string]Taken, group *Group) (zone string, refusals []Refusal) {
	var able []provider.Offer
	rated := true
	for _, o := range offers {
		switch {
		case o.Has:
			return o.Zone, nil
		case o.Unknown != nil:
			refusals = append(refusals, Refusal{Zone: o.Zone, Err: o.Unknown, Unknown: true})
		case o.Lacks != nil:
			refusals = append(refusals, Refusal{Zone: o.Zone, Err: o.Lacks})
		case group.refuses(o.Zone):
			refusals = append(refusals, Refusal{Zone: o.Zone, Err: group.why()})
		default:
			able = append(able, o)
			rated = rated && o.Rating > 0
		}
	}
	if len(able) == 0 {
		return "", refusals
	}
	best := slices.MinFunc(able, func(a, b provider.Offer) int {
		byDRS := 0
		if rated {
			byDRS = cmp.Compare(b.Rating, a.Rating)
		}
		ta, tb := taken[a.Zone], taken[b.Zone]
		return cmp.Or(group.compare(a.Zone, b.Zone), byDRS, cmp.Compare(left(b, size, tb), left(a, size, ta)), cmp.Compare(ta.Count, tb.Count), cmp.Compare(a.Zone, b.Zone))
	})
	return best.Zone, refusals
}

// Taken is what was chosen for others and does not show in what is free.
type Taken struct {
	// Resources of them, Count is their number.
	Resources provider.Resources
	Count     int
}

// left is the share that is free of what a zone has least of, with the virtual machine and
// what is taken. It is below 0 for one that would have to share what it has.
func left(o provider.Offer, size provider.Resources, taken Taken) float64 {
	share := func(free, capacity, uses int64) float64 {
		if capacity <= 0 {
			return 0
		}
		return float64(free-uses) / float64(capacity)
	}
	return min(
		share(o.Free.CPU, o.Capacity.CPU, 0),
		share(o.Free.Memory, o.Capacity.Memory, size.Memory+taken.Resources.Memory),
		share(o.Free.Storage, o.Capacity.Storage, size.Storage+taken.Resources.Storage),
	)
}

// condition says why there is no zone.
func condition(refusals []Refusal) (status metav1.ConditionStatus, reason, message string) {
	slices.SortStableFunc(refusals, func(a, b Refusal) int { return cmp.Compare(a.Zone, b.Zone) })
	reasons := map[string]bool{}
	var lines []string
	status = metav1.ConditionFalse
	for _, r := range refusals {
		line := r.Err.Error()
		if r.Zone != "" {
			line = "zone " + r.Zone + ": " + line
		}
		lines = append(lines, line)
		reasons[reasonOf(r)] = true
		if r.Unknown {
			status = metav1.ConditionUnknown
		}
	}
	reason = vmv1alpha1.ReasonNoZone
	if len(reasons) == 1 {
		for one := range reasons {
			reason = one
		}
	}
	if status == metav1.ConditionUnknown && reason != vmv1alpha1.ReasonUnreachable {
		reason = vmv1alpha1.ReasonUnknownState
	}
	return status, reason, conditions.Message(strings.Join(lines, "; "))
}

func reasonOf(r Refusal) string {
	var unusable *provider.NotUsableError
	var unreachable *provider.UnreachableError
	switch {
	case errors.As(r.Err, &unreachable):
		return vmv1alpha1.ReasonUnreachable
	case r.Unknown:
		return vmv1alpha1.ReasonUnknownState
	case errors.As(r.Err, &unusable) && unusable.NotAllowed:
		return vmv1alpha1.ReasonNotAllowed
	case errors.As(r.Err, &unusable) && unusable.Missing:
		return vmv1alpha1.ReasonNotFound
	}
	return vmv1alpha1.ReasonNoZone
}
