// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/clusterapi"
)

var (
	now      = time.Unix(1_700_000_000, 0)
	endpoint = vmv1alpha1.APIEndpoint{Host: "192.0.2.1", Port: 6443}
	errRead  = fmt.Errorf("cluster: %w", clusterapi.ErrNotRead)
)

func object(change ...func(*vmv1alpha1.SlipwayCluster)) *vmv1alpha1.SlipwayCluster {
	s := &vmv1alpha1.SlipwayCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop", UID: "uid-s", Generation: 3,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Name: "c", UID: "uid-c"}}},
		Spec: vmv1alpha1.SlipwayClusterSpec{ControlPlaneEndpoint: endpoint},
	}
	for _, f := range change {
		f(s)
	}
	return s
}

func zone(name string, selects map[string]string) *vmv1alpha1.Zone {
	z := &vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if selects != nil {
		z.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: selects}
	}
	return z
}

// known returns a state with three zones, of which one is for other namespaces and one is being deleted.
func known(change ...func(*inputs)) inputs {
	leaving := zone("leaving", nil)
	leaving.DeletionTimestamp = &metav1.Time{Time: now}
	b := zone("b", nil)
	b.Spec.VCenter = "west"
	w := inputs{zones: []*vmv1alpha1.Zone{b, zone("a", nil), zone("theirs", map[string]string{"team": "theirs"}), leaving}, zonesKnown: true, labels: map[string]string{"team": "ours"}}
	for _, f := range change {
		f(&w)
	}
	return w
}

func TestSlipwayCluster_IsProvisionedWithEndpointAndZones(t *testing.T) {
	none := func(s *vmv1alpha1.SlipwayCluster) { s.Spec.ControlPlaneEndpoint = vmv1alpha1.APIEndpoint{} }
	done := func(s *vmv1alpha1.SlipwayCluster) {
		yes := true
		s.Status.Initialization = &vmv1alpha1.VirtualMachineInitialization{Provisioned: &yes}
		s.Status.FailureDomains = []vmv1alpha1.FailureDomain{{Name: "before"}}
	}
	names := func(zones ...string) func(*vmv1alpha1.SlipwayCluster) {
		return func(s *vmv1alpha1.SlipwayCluster) { s.Spec.Zones = zones }
	}
	const waits = "False/WaitingForControlPlaneEndpoint"
	for name, tc := range map[string]struct {
		s           *vmv1alpha1.SlipwayCluster
		w           inputs
		ready       string
		message     string
		domains     string
		provisioned bool
		again       bool
	}{
		"endpoint in the spec":           {s: object(), w: known(), ready: "True/Succeeded", domains: "a b", provisioned: true},
		"endpoint in the Cluster":        {s: object(none), w: known(func(w *inputs) { w.cluster = &clusterapi.Cluster{Name: "c", Host: "h", Port: 1} }), ready: "True/Succeeded", domains: "a b", provisioned: true},
		"no endpoint":                    {s: object(none), w: known(func(w *inputs) { w.cluster = &clusterapi.Cluster{Name: "c"} }), ready: waits, message: "spec.controlPlaneEndpoint must have host and port", domains: "a b"},
		"an endpoint without a port":     {s: object(func(s *vmv1alpha1.SlipwayCluster) { s.Spec.ControlPlaneEndpoint.Port = 0 }), w: known(), ready: waits, domains: "a b"},
		"a Cluster that cannot be read":  {s: object(), w: known(func(w *inputs) { w.clusterErr = errRead }), ready: "Unknown/UnknownState", message: "could not be read yet", domains: "a b", again: true},
		"an unread Cluster, provisioned": {s: object(done), w: known(func(w *inputs) { w.clusterErr = errRead }), ready: "True/Succeeded", domains: "a b", provisioned: true},
		"Clusters are not served":        {s: object(), w: known(func(w *inputs) { w.clusterErr = clusterapi.ErrNotServed }), ready: "True/Succeeded", domains: "a b", provisioned: true},
		"zones that are unknown":         {s: object(), w: known(func(w *inputs) { w.zones, w.zonesKnown = nil, false }), ready: "Unknown/UnknownState", message: "the zones have not been read yet", again: true},
		"unknown zones once provisioned": {s: object(done), w: known(func(w *inputs) { w.zones, w.zonesKnown = nil, false }), ready: "Unknown/UnknownState", domains: "before", provisioned: true, again: true},
		"labels that are not known": {s: object(done), w: known(func(w *inputs) { w.labels = nil }), ready: "Unknown/UnknownState", message: "the labels of the namespace are not known",
			domains: "before", provisioned: true, again: true},
		"a removed endpoint": {s: object(done, none), w: known(), ready: "True/Succeeded", domains: "a b", provisioned: true},
		"zones by name":      {s: object(names("b")), w: known(), ready: "True/Succeeded", domains: "b", provisioned: true},
		"zones that cannot be used": {s: object(names("nowhere", "theirs", "a")), w: known(), ready: "False/NotFound", message: `Zone "nowhere" does not exist; Zone "theirs" does not select namespace ns`,
			domains: "a", provisioned: true},
		"no zones": {s: object(), w: known(func(w *inputs) { w.zones = nil }), ready: "False/NoZone", message: "no Zone is available", provisioned: true},
	} {
		t.Run(name, func(t *testing.T) {
			st, again := computeStatus(tc.s, tc.w, now)
			c := conditions.Find(st.Conditions, vmv1alpha1.ConditionReady)
			if got := string(c.Status) + "/" + c.Reason; got != tc.ready || !strings.Contains(c.Message, tc.message) || c.ObservedGeneration != 3 {
				t.Errorf("Ready is %s %q of generation %d, want %s %q of 3", got, c.Message, c.ObservedGeneration, tc.ready, tc.message)
			}
			var domains []string
			for _, d := range st.FailureDomains {
				domains = append(domains, d.Name)
			}
			if got := strings.Join(domains, " "); got != tc.domains {
				t.Errorf("failure domains %q, want %q", got, tc.domains)
			}
			provisioned := st.Initialization != nil && *st.Initialization.Provisioned
			if provisioned != tc.provisioned || again != tc.again || st.ObservedGeneration != 3 {
				t.Errorf("provisioned %v, again %v, generation %d; want %v, %v, 3", provisioned, again, st.ObservedGeneration, tc.provisioned, tc.again)
			}
		})
	}
}

func TestFailureDomain_HasVCenterAndAllowsControlPlanes(t *testing.T) {
	st, _ := computeStatus(object(), known(), now)
	yes := true
	want := []vmv1alpha1.FailureDomain{
		{Name: "a", ControlPlane: &yes, Attributes: map[string]string{"vCenter": "default"}},
		{Name: "b", ControlPlane: &yes, Attributes: map[string]string{"vCenter": "west"}},
	}
	if diff := cmp.Diff(want, st.FailureDomains); diff != "" {
		t.Errorf("failure domains (-want +got):\n%s", diff)
	}
}

func TestFailureDomains_AreLimitedToTheMaximumOfAClusterObject(t *testing.T) {
	var zones []*vmv1alpha1.Zone
	for n := range 150 {
		zones = append(zones, zone(fmt.Sprintf("z%03d", n), nil))
	}
	st, _ := computeStatus(object(), known(func(w *inputs) { w.zones = zones }), now)
	if n := len(st.FailureDomains); n != 100 || st.FailureDomains[99].Name != "z099" {
		t.Errorf("%d failure domains, the last %s; want the first 100", n, st.FailureDomains[n-1].Name)
	}
}

func TestSlipwayCluster_OnlyReportsPausedWhilePaused(t *testing.T) {
	annotated := func(s *vmv1alpha1.SlipwayCluster) {
		s.Annotations = map[string]string{clusterv1alpha1.PausedAnnotation: ""}
	}
	by := known(func(w *inputs) { w.cluster = &clusterapi.Cluster{Name: "c", Paused: true} })
	for name, tc := range map[string]struct {
		s       *vmv1alpha1.SlipwayCluster
		w       inputs
		message string
	}{
		"by an annotation": {object(annotated), known(), "by annotation cluster.x-k8s.io/paused"},
		"by its Cluster":   {object(), by, `by spec.paused of Cluster "c"`},
	} {
		t.Run(name, func(t *testing.T) {
			st, _ := computeStatus(tc.s, tc.w, now)
			if len(st.Conditions) != 1 || st.Conditions[0].Type != "Paused" || !strings.HasSuffix(st.Conditions[0].Message, tc.message) || st.Initialization != nil || st.FailureDomains != nil || st.ObservedGeneration != 0 {
				t.Errorf("status %+v, want only Paused %q", st, tc.message)
			}
		})
	}
	paused := object()
	paused.Status, _ = computeStatus(paused, by, now)
	if st, again := computeStatus(paused, known(func(w *inputs) { w.clusterErr = errRead }), now); !again || !conditions.IsTrue(st.Conditions, "Paused") || st.Initialization != nil {
		t.Errorf("while the Cluster cannot be read: status %+v; want it still paused", st)
	}
	if st, _ := computeStatus(paused, known(), now); conditions.Find(st.Conditions, "Paused") != nil || st.Initialization == nil {
		t.Errorf("after the pause: status %+v; want it reconciled", st)
	}
}

// A user who can write the object can also write its owner references.
func TestSlipwayCluster_IgnoresClustersThatDoNotReferToIt(t *testing.T) {
	s := object()
	by := ownerOf(s)
	fits := clusterapi.Cluster{Name: "c", UID: "uid-c", Infrastructure: clusterapi.Reference{Group: "vm.slipway.dev", Kind: "SlipwayCluster", Name: "shop"}}
	other, named := fits, fits
	other.UID, named.Infrastructure.Name = "uid-other", "victim"
	for name, tc := range map[string]struct {
		c    *clusterapi.Cluster
		want bool
	}{"that refers to it": {&fits, true}, "of the same name": {&other, false}, "that refers to another": {&named, false}, "that does not exist": {nil, false}} {
		if got := verifyOwner(tc.c, s, by) != nil; got != tc.want {
			t.Errorf("a Cluster %s is used: %v, want %v", name, got, tc.want)
		}
	}
	s.OwnerReferences[0].APIVersion = "example.org/v1"
	if got := ownerOf(s); got.name != "" {
		t.Errorf("a Cluster of another group owns it: %v", got)
	}
}
