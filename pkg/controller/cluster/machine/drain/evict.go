// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// MaxEviction is the maximum time for evictions in one reconcile. It limits how long a Machine occupies a worker.
const MaxEviction = 10 * time.Second

// podNotFound is the step of a Pod that no longer existed when the drain tried to evict it.
const podNotFound Step = "Gone"

// failure describes why a Pod was not evicted.
type failure struct {
	// text is the message, without the name of the Pod.
	text string
	// cause is the cause of the delay.
	cause Cause
}

// evict evicts the Pods with the step EvictNow, and updates their entries in plan. Each reconcile starts with another
// Pod.
func evict(ctx context.Context, client kubernetes.Interface, plan Plan, unreachable bool, in Input, dryRun ...string) {
	ctx, cancel := context.WithTimeout(ctx, MaxEviction)
	defer cancel()
	for _, i := range evictionOrder(plan, in.Now.Sub(in.Started)) {
		if ctx.Err() != nil {
			plan[i].failure = &timeoutFailure
			continue
		}
		e := eviction(plan[i].Pod, unreachable)
		e.DeleteOptions.DryRun = dryRun
		err := client.CoreV1().Pods(plan[i].Pod.Namespace).EvictV1(ctx, e)
		switch {
		case err == nil && len(dryRun) > 0:
		case err == nil:
			plan[i].Step = Deleting
		case apierrors.IsNotFound(err):
			plan[i].Step = podNotFound
		case ctx.Err() != nil:
			plan[i].failure = &timeoutFailure
		default:
			plan[i].failure = failureOf(err)
		}
	}
}

// evictionOrder returns the indexes of the Pods to evict. The first one depends on the time since the start of the
// drain.
func evictionOrder(plan Plan, since time.Duration) []int {
	var now []int
	for i := range plan {
		if plan[i].Step == EvictNow {
			now = append(now, i)
		}
	}
	if len(now) == 0 {
		return nil
	}
	first := int(max(since, 0)/Retry) % len(now)
	return slices.Concat(now[first:], now[:first])
}

// eviction returns the eviction of a Pod. The UID prevents the eviction of a recreated Pod.
func eviction(pod *corev1.Pod, unreachable bool) *policyv1.Eviction {
	e := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(pod.UID)}},
	}
	if unreachable {
		e.DeleteOptions.GracePeriodSeconds = ptr.To(int64(unreachableGrace.Seconds()))
	}
	return e
}

var timeoutFailure = failure{
	text:  fmt.Sprintf("failed to evict Pod, eviction timeout of %s reached, eviction will be retried", MaxEviction),
	cause: EvictionErrors,
}

// refusedByBudget is the start of the API server's message when a PodDisruptionBudget does not allow an eviction. It is
// changed to lower case in conditions.
const refusedByBudget = "Cannot evict pod as it would violate the pod's disruption budget."

// failureOf returns the failure for an error of the API server.
func failureOf(err error) *failure {
	status := apierrors.APIStatus(nil)
	switch {
	case apierrors.IsTooManyRequests(err) && errors.As(err, &status):
		text := status.Status().Message
		if rest, ok := strings.CutPrefix(text, refusedByBudget); ok {
			text = strings.ToLower(refusedByBudget[:1]) + refusedByBudget[1:] + rest
		} else {
			text = "failed to evict Pod, " + text
		}
		cause := EvictionErrors
		if apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
			cause = DisruptionBudgets
		}
		return &failure{text: text + causeMessages(status.Status().Details), cause: cause}
	case apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &failure{
			text:  "failed to evict Pod, Cannot evict pod from terminating namespace: unable to create eviction (kube-controller-manager should set deletionTimestamp)",
			cause: EvictionErrors,
		}
	default:
		return &failure{text: "failed to evict Pod, " + err.Error(), cause: EvictionErrors}
	}
}

// causeMessages returns the messages of the causes, to be appended to the message of a status.
func causeMessages(details *metav1.StatusDetails) string {
	if details == nil || len(details.Causes) == 0 {
		return ""
	}
	var messages []string
	for _, c := range details.Causes {
		messages = append(messages, c.Message)
	}
	return " " + strings.Join(messages, ",")
}
