// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// Deprecated is the part of a status for readers of Cluster API's v1beta1, which it makes if
// it is not there.
func Deprecated(status **clusterv1alpha1.DeprecatedStatus) *clusterv1alpha1.V1Beta1DeprecatedStatus {
	if *status == nil {
		*status = &clusterv1alpha1.DeprecatedStatus{}
	}
	if (*status).V1Beta1 == nil {
		(*status).V1Beta1 = &clusterv1alpha1.V1Beta1DeprecatedStatus{}
	}
	return (*status).V1Beta1
}

// SetDeprecated sets conditions in the form of v1beta1, as seen at now.
func SetDeprecated(status *clusterv1alpha1.V1Beta1DeprecatedStatus, now time.Time, all ...clusterv1alpha1.DeprecatedCondition) {
	for _, c := range all {
		c.Message = conditions.Message(c.Message)
		c.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
		i := slices.IndexFunc(status.Conditions, func(was clusterv1alpha1.DeprecatedCondition) bool { return was.Type == c.Type })
		if i < 0 {
			status.Conditions = append(status.Conditions, c)
			continue
		}
		if status.Conditions[i].Status == c.Status {
			c.LastTransitionTime = status.Conditions[i].LastTransitionTime
		}
		status.Conditions[i] = c
	}
	slices.SortFunc(status.Conditions, func(a, b clusterv1alpha1.DeprecatedCondition) int { return strings.Compare(a.Type, b.Type) })
}

// OldForm is c in the form of v1beta1, under another type if one is given, with severity if it
// is not True.
func OldForm(c metav1.Condition, severity clusterv1alpha1.ConditionSeverity, kind string) clusterv1alpha1.DeprecatedCondition {
	out := clusterv1alpha1.DeprecatedCondition{Type: c.Type, Status: c.Status}
	if kind != "" {
		out.Type = kind
	}
	if c.Status != metav1.ConditionTrue {
		out.Severity, out.Reason, out.Message = severity, c.Reason, c.Message
	}
	return out
}
