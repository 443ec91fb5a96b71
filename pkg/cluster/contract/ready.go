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

// Ready is the condition Ready of an object, nil if it has none. Conditions of Cluster API's
// v1beta2 come first where an object has both; reason and message may be empty in those of
// the older shape. A reason that conditions of our own cannot have is said in the message.
func Ready(o *object) (*metav1.Condition, error) {
	path := []string{"status", "v1beta2", "conditions"}
	if _, found, err := unstructured.NestedFieldNoCopy(o.Object, path...); err != nil || !found {
		path = []string{"status", "conditions"}
	}
	list, err := objects(o, maxConditions, path...)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(c map[string]any) bool { return c["type"] == "Ready" })
	if i < 0 {
		return nil, nil
	}
	c, err := condition(list[i])
	if err != nil {
		return nil, fault(o, path, "Ready: %v", err)
	}
	return c, nil
}

// isReason is true for a reason that our own API takes, and for none.
func isReason(reason string) bool {
	c := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.Now()}
	return reason == "" || len(reason) <= maxName && len(validation.ValidateCondition(c, field.NewPath("status"))) == 0
}

func condition(from map[string]any) (*metav1.Condition, error) {
	field := func(name string) (string, error) {
		value, ok := from[name]
		s, isText := value.(string)
		if ok && !isText {
			return "", fmt.Errorf("%s is %T, not a string", name, value)
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
		return nil, fmt.Errorf("status is %.40q, not True, False or Unknown", status)
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
