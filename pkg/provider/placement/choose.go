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

// Refusal is the reason why a zone cannot be used.
type Refusal struct {
	// Zone is the name of the zone.
	Zone string
	// Err is the reason.
	Err error
	// Unknown is true if the zone could not be checked.
	Unknown bool
}

// CandidateZones returns the zones in which a virtual machine can be created, and the reasons against other zones.
// labels are the labels of its namespace. If the object specifies a zone, only that zone is considered. Otherwise
// inPlace is used in the same way unless it is empty.
func CandidateZones(vm *vmv1alpha1.VirtualMachine, inPlace string, labels map[string]string, all []*vmv1alpha1.Zone) (left []*vmv1alpha1.Zone, refusals []Refusal) {
	asked := cmp.Or(vm.RequestedZone(), inPlace)
	refuse := func(zone string, unknown bool, err error) {
		refusals = append(refusals, Refusal{Zone: zone, Err: err, Unknown: unknown})
	}
	if label := vm.Labels[vmv1alpha1.LabelZone]; label != "" && label != asked {
		refuse(label, false, &provider.NotUsableError{Message: fmt.Sprintf("label %s selects this zone but spec.zone is %q", vmv1alpha1.LabelZone, asked)})
		return nil, refusals
	}
	found := false
	for _, z := range all {
		if asked != "" && z.Name != asked {
			continue
		}
		found = true
		selects, err := provider.SelectsNamespace(z.Spec.NamespaceSelector, labels)
		switch {
		case err != nil:
			refuse(z.Name, false, err)
		case z.DeletionTimestamp != nil:
			refuse(z.Name, false, &provider.NotUsableError{Message: "the zone is being deleted"})
		case !selects && labels == nil:
			refuse(z.Name, true, errors.New("the labels of the namespace are not known"))
		case !selects:
			refuse(z.Name, false, &provider.NotUsableError{NotAllowed: true, Message: "spec.namespaceSelector does not select namespace " + vm.Namespace})
		default:
			left = append(left, z)
		}
	}
	switch {
	case !found && asked != "":
		refuse(asked, false, &provider.NotUsableError{Message: "the Zone does not exist", Missing: true})
	case !found:
		refuse("", false, &provider.NotUsableError{Message: "no Zone exists", Missing: true})
	}
	return left, refusals
}

// Choose returns the best zone for a virtual machine of the given size, or an empty string if none can be used, and the
// reasons against other zones.
//
// If a zone already has the virtual machine, it is chosen. Otherwise the zone must have enough resources and must be
// allowed by group, which may be nil. If DRS rates all of these zones, the best rating is chosen. Among equals, Choose
// prefers the zone that keeps the largest free share of its scarcest resource.
func Choose(offers []provider.ZoneCheck, size provider.Resources, taken map[string]Reserved, group *Group) (zone string, refusals []Refusal) {
	var usable []provider.ZoneCheck
	rated := true
	for _, o := range offers {
		switch {
		case o.HasVM:
			return o.Zone, nil
		case o.CheckErr != nil:
			refusals = append(refusals, Refusal{Zone: o.Zone, Err: o.CheckErr, Unknown: true})
		case o.Refusal != nil:
			refusals = append(refusals, Refusal{Zone: o.Zone, Err: o.Refusal})
		case group.isRefused(o.Zone):
			refusals = append(refusals, Refusal{Zone: o.Zone, Err: group.refusal()})
		default:
			usable = append(usable, o)
			rated = rated && o.Rating > 0
		}
	}
	if len(usable) == 0 {
		return "", refusals
	}
	best := slices.MinFunc(usable, func(a, b provider.ZoneCheck) int {
		byDRS := 0
		if rated {
			byDRS = cmp.Compare(b.Rating, a.Rating)
		}
		ta, tb := taken[a.Zone], taken[b.Zone]
		return cmp.Or(group.compare(a.Zone, b.Zone), byDRS, cmp.Compare(freeShare(b, size, tb), freeShare(a, size, ta)), cmp.Compare(ta.Count, tb.Count), cmp.Compare(a.Zone, b.Zone))
	})
	return best.Zone, refusals
}

// Reserved has the resources that were assigned to other virtual machines and are still counted as free.
type Reserved struct {
	// Resources is the total. Count is the number of virtual machines.
	Resources provider.Resources
	Count     int
}

// freeShare returns the free share of the zone's scarcest resource after the virtual machine and taken are added. It is
// negative if the resources are overcommitted.
func freeShare(o provider.ZoneCheck, size provider.Resources, taken Reserved) float64 {
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

// condition returns the condition for the case that no zone can be used.
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
