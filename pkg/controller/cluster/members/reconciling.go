// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// Reconciling returns what an object that is not being deleted still has to do: the first of the conditions doing that
// is True, or replicas that are not available; nil if nothing.
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

// WaitingError is returned while an object that is to be created by a user does not exist.
type WaitingError struct {
	// Reason is that of a condition, and Message says what is waited for.
	Reason, Message string
}

// Error returns the message.
func (e *WaitingError) Error() string { return e.Message }

// ReasonOf returns the reason of an error that is a WaitingError, else fallback.
func ReasonOf(err error, fallback string) string {
	if waiting := (*WaitingError)(nil); errors.As(err, &waiting) {
		return waiting.Reason
	}
	return fallback
}

// Observed reports whether a reconcile that ended with err has done what the spec says, as far as it can be done now.
func Observed(err error) bool { return err == nil || ReasonOf(err, "") != "" }
