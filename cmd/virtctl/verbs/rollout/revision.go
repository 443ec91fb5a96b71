// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// changeCause is kubectl's annotation for the reason of a change.
const changeCause = "kubernetes.io/change-cause"

// revision is a previous template of a deployment, with the MachineSet that stores it.
type revision struct {
	number int64
	set    *clusterv1alpha1.MachineSet
}

func (r revision) cause() string { return cmp.Or(r.set.Annotations[changeCause], "<none>") }

// template is the deployment's template at the revision.
func (r revision) template() clusterv1alpha1.MachineTemplateSpec {
	t := *r.set.Spec.Template.DeepCopy()
	delete(t.Metadata.Labels, clusterv1alpha1.MachineDeploymentUniqueLabel)
	return t
}

// revisions returns the revisions of d that MachineSets store, the oldest first.
func revisions(d *clusterv1alpha1.MachineDeployment, sets []clusterv1alpha1.MachineSet) []revision {
	var all []revision
	for i := range sets {
		s := &sets[i]
		number, err := strconv.ParseInt(s.Annotations[clusterv1alpha1.RevisionAnnotation], 10, 64)
		if err == nil && metav1.IsControlledBy(s, d) {
			all = append(all, revision{number, s})
		}
	}
	slices.SortFunc(all, func(a, b revision) int { return cmp.Compare(a.number, b.number) })
	return all
}

// revisionAt returns the revision with the number, or for 0 the one before the last.
func revisionAt(all []revision, number int64) (revision, error) {
	if number == 0 {
		switch len(all) {
		case 0:
			return revision{}, errors.New("no revision exists")
		case 1:
			return revision{}, fmt.Errorf("no previous revision: the only one is %d", all[0].number)
		}
		return all[len(all)-2], nil
	}
	for _, r := range all {
		if r.number == number {
			return r, nil
		}
	}
	var kept []string
	for _, r := range all {
		kept = append(kept, strconv.FormatInt(r.number, 10))
	}
	return revision{}, fmt.Errorf("revision %d not found; available: %s", number, conditions.JoinLimited(kept, ", "))
}

// unrolled returns what the rollout of d waits for, with the cause if it is known. It is empty if the rollout is
// complete.
func unrolled(d *clusterv1alpha1.MachineDeployment) string {
	text := pending(d)
	if text == "" || d.Status.ObservedGeneration < d.Generation || conditions.IsTrue(d.Status.Conditions, clusterv1alpha1.PausedCondition) {
		return text
	}
	for _, kind := range []string{clusterv1alpha1.ScalingUpCondition, clusterv1alpha1.MachinesReadyCondition} {
		c := conditions.Find(d.Status.Conditions, kind)
		if c == nil || c.Message == "" || (c.Status == metav1.ConditionTrue) != (kind == clusterv1alpha1.ScalingUpCondition) {
			continue
		}
		if rolling := conditions.Find(d.Status.Conditions, clusterv1alpha1.RollingOutCondition); rolling != nil && kind == clusterv1alpha1.ScalingUpCondition && rolling.Reason == c.Reason {
			continue // pending has reported this cause
		}
		text += ": " + oneLine(c.Message)
	}
	return text
}

// oneLine joins the items of a message into one line.
func oneLine(message string) string {
	var parts []string
	for line := range strings.Lines(message) {
		if part := strings.TrimPrefix(strings.TrimSpace(line), "* "); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.ReplaceAll(strings.Join(parts, ", "), ": * ", ": ")
}

// pending returns what the rollout of d waits for, or an empty string if it is complete.
func pending(d *clusterv1alpha1.MachineDeployment) string {
	wanted, st := ptr.Deref(d.Spec.Replicas, 1), &d.Status
	rolling := conditions.Find(st.Conditions, clusterv1alpha1.RollingOutCondition)
	paused := conditions.Find(st.Conditions, clusterv1alpha1.PausedCondition)
	switch {
	case paused != nil && paused.Status == metav1.ConditionTrue:
		return "the rollout is paused: " + paused.Message
	case st.ObservedGeneration < d.Generation:
		return "waiting for the controller to observe the change"
	case rolling != nil && rolling.Status == metav1.ConditionTrue:
		return rolling.Message
	case ptr.Deref(st.Replicas, 0) != wanted:
		return fmt.Sprintf("%d of %d machines exist", ptr.Deref(st.Replicas, 0), wanted)
	case ptr.Deref(st.AvailableReplicas, 0) < wanted:
		return fmt.Sprintf("%d of %d machines are available", ptr.Deref(st.AvailableReplicas, 0), wanted)
	}
	return ""
}
