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

// MaxEviction is how long one pass evicts. A worker is not kept longer by one Machine.
const MaxEviction = 10 * time.Second

// gone is the step of a Pod that was found gone when it was to be evicted.
const gone Step = "Gone"

// failure is why a Pod was not evicted.
type failure struct {
	// text is for people, without the name of the Pod.
	text string
	// cause of the delay.
	cause Cause
}

// evict asks for the eviction of those whose turn it is, beginning with another one in
// each pass. What came of it is written into the entries of plan.
func evict(ctx context.Context, client kubernetes.Interface, plan Plan, unreachable bool, in Input, dryRun ...string) {
	ctx, cancel := context.WithTimeout(ctx, MaxEviction)
	defer cancel()
	for _, i := range turns(plan, in.Now.Sub(in.Started)) {
		if ctx.Err() != nil {
			plan[i].failure = &outOfTime
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
			plan[i].Step = gone
		case ctx.Err() != nil:
			plan[i].failure = &outOfTime
		default:
			plan[i].failure = failed(err)
		}
	}
}

// turns are the indexes of what is to be evicted, from which pass of the drain on.
func turns(plan Plan, since time.Duration) []int {
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

// eviction is of this Pod, not of one that was made under its name since.
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

var outOfTime = failure{
	text:  fmt.Sprintf("failed to evict Pod, eviction timeout of %s reached, eviction will be retried", MaxEviction),
	cause: EvictionErrors,
}

// refusedByBudget is how the API server begins when a PodDisruptionBudget does not allow
// an eviction. Condition messages begin with a small letter.
const refusedByBudget = "Cannot evict pod as it would violate the pod's disruption budget."

// failed tells why the API server did not evict a Pod.
func failed(err error) *failure {
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
		return &failure{text: text + causes(status.Status().Details), cause: cause}
	case apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &failure{
			text:  "failed to evict Pod, Cannot evict pod from terminating namespace: unable to create eviction (kube-controller-manager should set deletionTimestamp)",
			cause: EvictionErrors,
		}
	default:
		return &failure{text: "failed to evict Pod, " + err.Error(), cause: EvictionErrors}
	}
}

// causes are the messages of the causes, as what follows the message of a status.
func causes(details *metav1.StatusDetails) string {
	if details == nil || len(details.Causes) == 0 {
		return ""
	}
	var messages []string
	for _, c := range details.Causes {
		messages = append(messages, c.Message)
	}
	return " " + strings.Join(messages, ",")
}
