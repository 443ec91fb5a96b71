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

// Retry is when a drain that is not done is looked at again, and not before.
const Retry = 20 * time.Second

// Result is what came of one pass.
type Result struct {
	// Done is true when no Pod or volume is left to evict or to wait for, and
	// when the Node is gone.
	Done bool
	// Message is for the condition, empty when done.
	Message string
	// Causes are why it is not done.
	Causes []Cause
}

// Drain cordons the Node and evicts the Pods whose turn it is. Whatever it could not read
// or cordon is an error; that a Pod was not evicted is said in the result.
func Drain(ctx context.Context, client kubernetes.Interface, in Input) (Result, error) {
	log := klog.FromContext(ctx).WithValues("node", in.Node)
	node, plan, err := prepare(ctx, client, in)
	if err != nil {
		return Result{}, err
	}
	if node == nil {
		log.V(2).Info("Node is gone, nothing to drain")
		return Result{Done: true}, nil
	}
	unreachable := Unreachable(node)
	evict(ctx, client, plan, unreachable, in)
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("draining Node %s: %w", in.Node, err)
	}
	for _, e := range plan {
		log.V(4).Info("Pod of a Node that is drained", "pod", klog.KObj(e.Pod), "step", e.Step, "behavior", e.Behavior, "by", e.By, "warnings", e.Warnings)
	}
	if plan.Done() {
		return Result{Done: true}, nil
	}
	return Result{Message: message(plan, unreachable, in.Started), Causes: causesOf(plan)}, nil
}

// prepare cordons the Node, nil when it is gone, and plans, in a time that leaves some for
// evictions.
func prepare(ctx context.Context, client kubernetes.Interface, in Input) (*corev1.Node, Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, MaxReading)
	defer cancel()
	node, err := ReadNode(ctx, client, in)
	if err != nil || node == nil {
		return nil, nil, err
	}
	if err := cordon(ctx, client, node); err != nil {
		return nil, nil, err
	}
	plan, err := Look(ctx, client, node, in)
	return node, plan, err
}

// Rehearse tells what a drain would do now: it asks for the evictions of its first pass as a
// dry run, and changes nothing. The plan of a Node that is gone is nil.
func Rehearse(ctx context.Context, client kubernetes.Interface, in Input) (Plan, error) {
	node, err := ReadNode(ctx, client, in)
	if err != nil || node == nil {
		return nil, err
	}
	plan, err := Look(ctx, client, node, in)
	if err != nil {
		return nil, err
	}
	evict(ctx, client, plan, Unreachable(node), in, metav1.DryRunAll)
	return plan, nil
}

// cordon keeps new Pods off node.
func cordon(ctx context.Context, client kubernetes.Interface, node *corev1.Node) error {
	if node.Spec.Unschedulable {
		return nil
	}
	// The UID keeps a Node that was made under this name since from being cordoned.
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"unschedulable":true}}`, node.UID)
	if _, err := client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("cordoning Node %s: %w", node.Name, err)
	}
	return nil
}
