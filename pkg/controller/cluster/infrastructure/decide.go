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

// maxDomains is the most failure domains that Clusters of Cluster API take.
const maxDomains = 100

// vCenterAttribute of a failure domain names its vCenter.
const vCenterAttribute = "vCenter"

// owner is the Cluster that an object says it belongs to; its name is empty for none.
type owner struct {
	group, name string
	uid         types.UID
}

// ownerOf returns the Cluster that controls s, or else the first one that owns it.
func ownerOf(s *vmv1alpha1.SlipwayCluster) (found owner) {
	for i := range s.OwnerReferences {
		o := &s.OwnerReferences[i]
		gv, err := schema.ParseGroupVersion(o.APIVersion)
		if err != nil || o.Kind != "Cluster" || !clusterapi.Is(gv.Group) {
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

// world is what is known of all that an object depends on.
type world struct {
	// cluster is the owner, nil if it does not exist, names something else as its
	// infrastructure, or cannot be read for the reason.
	cluster    *clusterapi.Cluster
	clusterErr error
	// zones are all that there are, if zonesKnown.
	zones      []*vmv1alpha1.Zone
	zonesKnown bool
	// labels of the namespace, nil if they are not known.
	labels map[string]string
}

// owning returns c if it is the one that owns s, and says so itself.
func owning(c *clusterapi.Cluster, s *vmv1alpha1.SlipwayCluster, by owner) *clusterapi.Cluster {
	if c == nil || c.UID != by.uid || c.Infrastructure != (clusterapi.Reference{Group: vmv1alpha1.GroupName, Kind: "SlipwayCluster", Name: s.Name}) {
		return nil
	}
	return c
}

// decide returns the status that s has by now, and whether it has to be looked at again because
// something could not be read.
func decide(s *vmv1alpha1.SlipwayCluster, w world, now time.Time) (st vmv1alpha1.SlipwayClusterStatus, again bool) {
	st = *s.Status.DeepCopy()
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		conditions.Set(&st.Conditions, now, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: s.Generation})
	}
	unread := clusterapi.Unread(w.clusterErr)
	if why := clusterapi.PausedBy(s, w.cluster); why != "" {
		set(vmv1alpha1.ConditionPaused, metav1.ConditionTrue, vmv1alpha1.ReasonPaused, "reconciling is paused "+why)
		return st, false
	}
	if unread && conditions.IsTrue(st.Conditions, vmv1alpha1.ConditionPaused) {
		return st, true // it may still be
	}
	meta.RemoveStatusCondition(&st.Conditions, vmv1alpha1.ConditionPaused)
	st.ObservedGeneration = s.Generation
	domains, reason, message := domainsOf(s, w)
	if reason != vmv1alpha1.ReasonUnknownState {
		st.FailureDomains = domains
	}
	provisioned := st.Initialization != nil && st.Initialization.Provisioned != nil && *st.Initialization.Provisioned
	switch {
	case !provisioned && unread:
		set(vmv1alpha1.ConditionReady, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, w.clusterErr.Error())
		return st, true
	case !provisioned && !endpointKnown(s, w.cluster):
		set(vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonWaitingForEndpoint,
			"spec.controlPlaneEndpoint needs host and port, here or in the Cluster that it is the infrastructure of")
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

// endpointKnown is true when it is known where the API of the cluster is.
func endpointKnown(s *vmv1alpha1.SlipwayCluster, c *clusterapi.Cluster) bool {
	e := s.Spec.ControlPlaneEndpoint
	return e.Host != "" && e.Port != 0 || c != nil && c.Host != "" && c.Port != 0
}

// domainsOf are the zones that machines of s can be in, in the order of their names, and what is
// wrong with those that it names; the reason is empty for nothing.
func domainsOf(s *vmv1alpha1.SlipwayCluster, w world) (out []vmv1alpha1.FailureDomain, reason, message string) {
	if !w.zonesKnown {
		return nil, vmv1alpha1.ReasonUnknownState, "the zones are not read yet"
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
			say(vmv1alpha1.ReasonNotFound, "there is no Zone %q", name)
		}
	}
	for _, z := range w.zones {
		asked := slices.Contains(named, z.Name)
		if z.DeletionTimestamp != nil || len(named) > 0 && !asked {
			continue
		}
		selects, err := provider.Selects(z.Spec.NamespaceSelector, w.labels)
		switch {
		case err != nil && asked:
			say(vmv1alpha1.ReasonInvalid, "Zone %q: %v", z.Name, err)
		case !selects && w.labels == nil:
			say(vmv1alpha1.ReasonUnknownState, "the labels of the namespace are not known")
		case !selects && asked:
			say(vmv1alpha1.ReasonNotAllowed, "Zone %q is not for the namespace %s", z.Name, s.Namespace)
		case selects:
			yes := true
			out = append(out, vmv1alpha1.FailureDomain{Name: z.Name, ControlPlane: &yes, Attributes: map[string]string{vCenterAttribute: z.VCenterName()}})
		}
	}
	slices.SortFunc(out, func(a, b vmv1alpha1.FailureDomain) int { return cmp.Compare(a.Name, b.Name) })
	if len(out) == 0 && reason == "" {
		say(vmv1alpha1.ReasonNoZone, "there is no Zone that virtual machines of the namespace can be in")
	}
	return out[:min(len(out), maxDomains)], reason, conditions.List(messages, "; ")
}
