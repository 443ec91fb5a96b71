// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// Reconciling returns the Reconciling condition of an object that is not being deleted. It reports the first True
// condition of doing, or replicas that are not available. It returns nil if there are neither.
func Reconciling(available, wanted int32, doing ...metav1.Condition) *metav1.Condition {
	for _, c := range doing {
		if c.Status == metav1.ConditionTrue {
			return &c
		}
	}
	if available >= wanted {
		return nil
	}
	return &metav1.Condition{
		Reason:  clusterv1alpha1.NotAvailableReason,
		Message: fmt.Sprintf("%d of %d replicas are available", available, wanted),
	}
}

// WaitingError is returned while an object that a user must create does not exist.
type WaitingError struct {
	// Reason is a condition reason. Message describes the missing object.
	Reason, Message string
}

// Error implements error.
func (e *WaitingError) Error() string { return e.Message }

// ReasonOf returns the reason of a WaitingError, or fallback for other errors.
func ReasonOf(err error, fallback string) string {
	if waiting := (*WaitingError)(nil); errors.As(err, &waiting) {
		return waiting.Reason
	}
	return fallback
}

// IsObserved reports whether a reconcile that returned err has processed the spec. An error for a missing user object
// counts as processed.
func IsObserved(err error) bool { return err == nil || ReasonOf(err, "") != "" }
