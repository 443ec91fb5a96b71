// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// RetryInterval is the interval of reconciles while a drain is not done.
const RetryInterval = 20 * time.Second

// Result is the result of one reconcile of a drain.
type Result struct {
	// Done is true if no Pod or volume must be waited for, or if the Node does not exist.
	Done bool
	// Message is the condition message. It is empty if Done is true.
	Message string
	// Causes are the reasons why the drain is not done.
	Causes []Cause
}

// Drain cordons the Node and evicts the Pods of the current group. It returns an error if the Node cannot be cordoned
// or objects cannot be read. Failed evictions are reported in the result.
func Drain(ctx context.Context, client kubernetes.Interface, in Input) (Result, error) {
	log := klog.FromContext(ctx).WithValues("node", in.Node)
	node, plan, err := prepare(ctx, client, in)
	if err != nil {
		return Result{}, err
	}
	if node == nil {
		log.V(2).Info("Node does not exist, nothing to drain")
		return Result{Done: true}, nil
	}
	unreachable := IsUnreachable(node)
	evict(ctx, client, plan, unreachable, in)
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("draining Node %s: %w", in.Node, err)
	}
	for _, e := range plan {
		log.V(4).Info("Draining Pod", "pod", klog.KObj(e.Pod), "step", e.Step, "behavior", e.Behavior, "by", e.By, "warnings", e.Warnings)
	}
	if plan.Done() {
		return Result{Done: true}, nil
	}
	return Result{Message: message(plan, unreachable, in.Started), Causes: causesOf(plan)}, nil
}

// prepare cordons the Node and returns the plan. The Node is nil if it does not exist. The timeout leaves time for
// evictions.
func prepare(ctx context.Context, client kubernetes.Interface, in Input) (*corev1.Node, Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, ReadTimeout)
	defer cancel()
	node, err := ReadNode(ctx, client, in)
	if err != nil || node == nil {
		return nil, nil, err
	}
	if err := cordon(ctx, client, node); err != nil {
		return nil, nil, err
	}
	plan, err := ReadPlan(ctx, client, node, in)
	return node, plan, err
}

// DryRun returns the plan of a drain and sends its first evictions as a dry run. It changes nothing. The plan is nil
// if the Node does not exist.
func DryRun(ctx context.Context, client kubernetes.Interface, in Input) (Plan, error) {
	node, err := ReadNode(ctx, client, in)
	if err != nil || node == nil {
		return nil, err
	}
	plan, err := ReadPlan(ctx, client, node, in)
	if err != nil {
		return nil, err
	}
	evict(ctx, client, plan, IsUnreachable(node), in, metav1.DryRunAll)
	return plan, nil
}

// cordon marks node as unschedulable.
func cordon(ctx context.Context, client kubernetes.Interface, node *corev1.Node) error {
	if node.Spec.Unschedulable {
		return nil
	}
	// The UID prevents cordoning a recreated Node.
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"unschedulable":true}}`, node.UID)
	if _, err := client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("cordoning Node %s: %w", node.Name, err)
	}
	return nil
}
