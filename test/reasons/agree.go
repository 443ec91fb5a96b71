// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/test/argocd"
)

// summaries are the conditions that summarize an object. Clients wait for the first one that the object has.
var summaries = []string{"Ready", "Available", "Complete"}

// underway are conditions that are True while an object is being changed or cannot be changed.
var underway = []string{"Reconciling", "Stalled", "RollingOut", "ScalingUp", "ScalingDown", "Paused"}

// shipped returns the health checks that users give to Argo CD.
var shipped = sync.OnceValues(argocd.Shipped)

// Agree returns an error if tools that wait for an object disagree about it: kstatus, the health check of Argo CD, and
// kubectl wait for the condition that summarizes it.
func Agree(o *unstructured.Unstructured) error {
	checks, err := shipped()
	if err != nil {
		return err
	}
	said, err := kstatus.Compute(o)
	if err != nil {
		return fmt.Errorf("kstatus of %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	if err := checks.Agree(o, said); err != nil {
		return err
	}
	all := conditionsOf(o)
	at := slices.IndexFunc(summaries, func(name string) bool { return conditions.Find(all, name) != nil })
	if at < 0 || said.Status == kstatus.TerminatingStatus {
		return nil
	}
	over := waitEnds(o, conditions.Find(all, summaries[at]))
	quiet := !slices.ContainsFunc(underway, func(name string) bool { c := conditions.Find(all, name); return c != nil && c.Status == isTrue })
	if quiet && over != (said.Status == kstatus.CurrentStatus) {
		return fmt.Errorf("%s %s is %s (%s) to kstatus, and kubectl wait --for=condition=%s ends: %v", o.GetKind(), o.GetName(), said.Status, said.Message, summaries[at], over)
	}
	return nil
}

// waitEnds reports whether kubectl wait treats a condition as met. It does not while the observed generation of the
// condition, or of the status if the condition has none, is older.
func waitEnds(o *unstructured.Unstructured, c *metav1.Condition) bool {
	observed, known := c.ObservedGeneration, c.ObservedGeneration > 0
	if !known {
		observed, known, _ = unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	}
	return c.Status == isTrue && (!known || observed >= o.GetGeneration())
}

func conditionsOf(o *unstructured.Unstructured) []metav1.Condition {
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	return conditionsIn(status)
}

// shape is equal for objects that all tools evaluate equally.
func shape(o *unstructured.Unstructured) string {
	var b strings.Builder
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	fmt.Fprint(&b, o.GetKind(), observed-o.GetGeneration(), o.GetDeletionTimestamp() != nil)
	for _, c := range conditionsOf(o) {
		fmt.Fprint(&b, c.Type, c.Status, c.ObservedGeneration-o.GetGeneration())
	}
	return b.String()
}
