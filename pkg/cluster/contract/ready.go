// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ReadyCondition returns the Ready condition of an object, or nil if it has none. If an object has both, Cluster API's v1beta2
// conditions are used. Reason and message may be empty in v1beta1 conditions. A reason that is not valid in a
// metav1.Condition is moved into the message.
func ReadyCondition(o *object) (*metav1.Condition, error) {
	path := []string{"status", "v1beta2", "conditions"}
	if _, found, err := unstructured.NestedFieldNoCopy(o.Object, path...); err != nil || !found {
		path = []string{"status", "conditions"}
	}
	list, err := objectList(o, maxConditions, path...)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(c map[string]any) bool { return c["type"] == "Ready" })
	if i < 0 {
		return nil, nil
	}
	c, err := parseCondition(list[i])
	if err != nil {
		return nil, fieldError(o, path, "Ready: %v", err)
	}
	return c, nil
}

// isReason reports whether reason is valid in a condition or empty.
func isReason(reason string) bool {
	c := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.Now()}
	return reason == "" || len(reason) <= maxName && len(validation.ValidateCondition(c, field.NewPath("status"))) == 0
}

func parseCondition(from map[string]any) (*metav1.Condition, error) {
	field := func(name string) (string, error) {
		value, ok := from[name]
		s, isText := value.(string)
		if ok && !isText {
			return "", fmt.Errorf("%s must be a string, not %T", name, value)
		}
		return s, nil
	}
	c := &metav1.Condition{Type: "Ready"}
	var status, at string
	for name, to := range map[string]*string{"status": &status, "reason": &c.Reason, "message": &c.Message, "lastTransitionTime": &at} {
		var err error
		if *to, err = field(name); err != nil {
			return nil, err
		}
	}
	c.Status = metav1.ConditionStatus(status)
	if !slices.Contains([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}, c.Status) {
		return nil, fmt.Errorf("status must be True, False or Unknown, not %.40q", status)
	}
	if !isReason(c.Reason) {
		c.Reason, c.Message = "", c.Reason+": "+c.Message
	}
	if at != "" {
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return nil, fmt.Errorf("lastTransitionTime: %w", err)
		}
		c.LastTransitionTime = metav1.NewTime(t)
	}
	return c, nil
}
