// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// upToDateCondition says whether a Machine of a MachineDeployment is as the template of that
// says. What is compared are the templates of deployment and set: by them it is decided
// whether the Machine is replaced, not by what somebody has changed in the Machine.
func upToDateCondition(m *machine, set *machineSet, d *deployment, updating progress, now time.Time) metav1.Condition {
	c := metav1.Condition{Type: clusterv1alpha1.MachineUpToDateCondition, Status: metav1.ConditionFalse}
	differs := members.Outdated(&set.Spec.Template, &d.Spec.Template)
	if after := d.Spec.Rollout.After; after != nil && after.Time.Before(now) && set.CreationTimestamp.Time.Before(after.Time) {
		differs = append(differs, "MachineDeployment spec.rolloutAfter expired")
	}
	node := ""
	if m.Status.NodeInfo != nil {
		node = m.Status.NodeInfo.KubeletVersion
	}
	switch {
	case len(differs) > 0:
		c.Reason, c.Message = clusterv1alpha1.NotUpToDateReason, "* "+strings.Join(differs, "\n* ")
	case updating.reason != "":
		c.Reason, c.Message = clusterv1alpha1.UpdatingReason, "* "+updating.message
	case node != "" && m.Spec.Version != "" && node != m.Spec.Version:
		c.Reason = clusterv1alpha1.UpdatingReason
		c.Message = fmt.Sprintf("* Node.status.nodeInfo.kubeletVersion %s, %s required", node, m.Spec.Version)
	default:
		c.Status, c.Reason = metav1.ConditionTrue, clusterv1alpha1.UpToDateReason
	}
	return c
}
