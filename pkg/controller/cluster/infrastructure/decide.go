// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/clusterapi"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// maxDomains is the maximum number of failure domains in a Cluster of Cluster API.
const maxDomains = 100

// vCenterAttribute is the attribute of a failure domain that contains its vCenter.
const vCenterAttribute = "vCenter"

// owner is the Cluster in an object's owner references. name is empty if there is none.
type owner struct {
	group, name string
	uid         types.UID
}

// ownerOf returns the Cluster that controls s, or else the first Cluster that owns it.
func ownerOf(s *vmv1alpha1.SlipwayCluster) (found owner) {
	for i := range s.OwnerReferences {
		o := &s.OwnerReferences[i]
		gv, err := schema.ParseGroupVersion(o.APIVersion)
		if err != nil || o.Kind != "Cluster" || !clusterapi.IsClusterGroup(gv.Group) {
			continue
		}
		if controls := ptr.Deref(o.Controller, false); controls || found.name == "" {
			found = owner{gv.Group, o.Name, o.UID}
			if controls {
				break
			}
		}
	}
	return found
}

// inputs is the state from which the status of an object is computed.
type inputs struct {
	// cluster is the owner. It is nil if the owner does not exist, refers to other infrastructure, or cannot be read
	// (clusterErr).
	cluster    *clusterapi.Cluster
	clusterErr error
	// zones are all zones. They are valid if zonesKnown is true.
	zones      []*vmv1alpha1.Zone
	zonesKnown bool
	// labels are the labels of the namespace, or nil if they are not known.
	labels map[string]string
}

// verifyOwner returns c if c refers to s as its infrastructure, and nil otherwise.
func verifyOwner(c *clusterapi.Cluster, s *vmv1alpha1.SlipwayCluster, by owner) *clusterapi.Cluster {
	if c == nil || c.UID != by.uid || c.Infrastructure != (clusterapi.Reference{Group: vmv1alpha1.GroupName, Kind: "SlipwayCluster", Name: s.Name}) {
		return nil
	}
	return c
}

// computeStatus returns the status of s. again is true if it must be computed again because something could not be
// read.
func computeStatus(s *vmv1alpha1.SlipwayCluster, w inputs, now time.Time) (st vmv1alpha1.SlipwayClusterStatus, again bool) {
	st = *s.Status.DeepCopy()
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		conditions.Set(&st.Conditions, now, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: s.Generation})
	}
	unread := clusterapi.IsUnread(w.clusterErr)
	if why := clusterapi.PausedBy(s, w.cluster); why != "" {
		set(vmv1alpha1.ConditionPaused, metav1.ConditionTrue, vmv1alpha1.ReasonPaused, "reconciling is paused "+why)
		return st, false
	}
	if unread && conditions.IsTrue(st.Conditions, vmv1alpha1.ConditionPaused) {
		return st, true // It may still be paused.
	}
	meta.RemoveStatusCondition(&st.Conditions, vmv1alpha1.ConditionPaused)
	st.ObservedGeneration = s.Generation
	domains, reason, message := failureDomains(s, w)
	if reason != vmv1alpha1.ReasonUnknownState {
		st.FailureDomains = domains
	}
	provisioned := st.Initialization != nil && st.Initialization.Provisioned != nil && *st.Initialization.Provisioned
	switch {
	case !provisioned && unread:
		set(vmv1alpha1.ConditionReady, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, w.clusterErr.Error())
		return st, true
	case !provisioned && !hasEndpoint(s, w.cluster):
		set(vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonWaitingForEndpoint,
			"spec.controlPlaneEndpoint must have host and port, here or in the Cluster that owns this object")
		return st, false
	case reason == vmv1alpha1.ReasonUnknownState:
		set(vmv1alpha1.ConditionReady, metav1.ConditionUnknown, reason, message)
		return st, true
	}
	yes := true
	st.Initialization = &vmv1alpha1.VirtualMachineInitialization{Provisioned: &yes}
	if reason != "" {
		set(vmv1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
		return st, false
	}
	set(vmv1alpha1.ConditionReady, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
	return st, false
}

// hasEndpoint reports whether the endpoint of the cluster's API server is known.
func hasEndpoint(s *vmv1alpha1.SlipwayCluster, c *clusterapi.Cluster) bool {
	e := s.Spec.ControlPlaneEndpoint
	return e.Host != "" && e.Port != 0 || c != nil && c.Host != "" && c.Port != 0
}

// failureDomains returns the zones that machines of s can run in, sorted by name. reason and message describe problems
// with the zones of the spec; reason is empty if there are none.
func failureDomains(s *vmv1alpha1.SlipwayCluster, w inputs) (out []vmv1alpha1.FailureDomain, reason, message string) {
	if !w.zonesKnown {
		return nil, vmv1alpha1.ReasonUnknownState, "the zones have not been read yet"
	}
	var messages []string
	say := func(why, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(messages, text) {
			messages = append(messages, text)
		}
		if reason == "" || why == vmv1alpha1.ReasonUnknownState {
			reason = why
		}
	}
	named := s.Spec.Zones
	for _, name := range named {
		if !slices.ContainsFunc(w.zones, func(z *vmv1alpha1.Zone) bool { return z.Name == name }) {
			say(vmv1alpha1.ReasonNotFound, "Zone %q does not exist", name)
		}
	}
	for _, z := range w.zones {
		requested := slices.Contains(named, z.Name)
		if z.DeletionTimestamp != nil || len(named) > 0 && !requested {
			continue
		}
		selects, err := provider.SelectsNamespace(z.Spec.NamespaceSelector, w.labels)
		switch {
		case err != nil && requested:
			say(vmv1alpha1.ReasonInvalid, "Zone %q: %v", z.Name, err)
		case !selects && w.labels == nil:
			say(vmv1alpha1.ReasonUnknownState, "the labels of the namespace are not known")
		case !selects && requested:
			say(vmv1alpha1.ReasonNotAllowed, "Zone %q does not select namespace %s", z.Name, s.Namespace)
		case selects:
			yes := true
			out = append(out, vmv1alpha1.FailureDomain{Name: z.Name, ControlPlane: &yes, Attributes: map[string]string{vCenterAttribute: z.VCenterName()}})
		}
	}
	slices.SortFunc(out, func(a, b vmv1alpha1.FailureDomain) int { return cmp.Compare(a.Name, b.Name) })
	if len(out) == 0 && reason == "" {
		say(vmv1alpha1.ReasonNoZone, "no Zone is available to the namespace")
	}
	return out[:min(len(out), maxDomains)], reason, conditions.JoinLimited(messages, "; ")
}
