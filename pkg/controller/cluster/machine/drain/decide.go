// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// Behavior is the treatment of a Pod by a drain.
type Behavior string

// Behaviors. The first three are also behaviors of MachineDrainRules.
const (
	// BehaviorDrain evicts the Pod and waits for its deletion.
	BehaviorDrain Behavior = "Drain"
	// BehaviorSkip neither evicts the Pod nor waits for it.
	BehaviorSkip Behavior = "Skip"
	// BehaviorWaitCompleted waits until the Pod has succeeded or failed, and does not evict it.
	BehaviorWaitCompleted Behavior = "WaitCompleted"
	// BehaviorUndecided does not evict the Pod and waits until its behavior can be determined.
	BehaviorUndecided Behavior = "Undecided"
)

// Decision is the behavior for one Pod, with its source.
type Decision struct {
	// Behavior is the behavior.
	Behavior Behavior
	// Order is the group of the Pod. Groups are drained one after another, in ascending order. It is 0 unless Behavior
	// is Drain.
	Order int32
	// By is the source of the decision. It is empty for the default.
	By string
	// Warnings are remarks about a Pod that is evicted or skipped.
	Warnings []string
	// Err is the reason for BehaviorUndecided.
	Err error
}

func newUndecided(err error) Decision { return Decision{Behavior: BehaviorUndecided, Err: err} }

// DecisionInputs are the inputs of decisions in addition to the Pod.
type DecisionInputs struct {
	// Now is the time of the reconcile.
	Now time.Time
	// Unreachable is true if the kubelet of the Node no longer reports. Then deleted Pods on the Node remain until it
	// reports again.
	Unreachable bool
	// DaemonSets are the controllers of Pods of the Node.
	DaemonSets map[types.NamespacedName]Existence
	// Namespaces maps names of Namespaces to their labels.
	Namespaces map[string]labels.Set
	// Rules are the rules that apply to the Machine.
	Rules Rules
}

// Existence reports whether an object exists, or why it could not be read.
type Existence struct {
	// Exists is valid only if Err is nil.
	Exists bool
	// Err is the error of the read.
	Err error
}

// unreachableGrace is the grace period of Pods on an unreachable Node. It is also how long their deletion is waited for
// after it.
const unreachableGrace = time.Second

// filters are called in this order until one returns another behavior than Drain. Warnings of all called filters are
// collected.
var filters = []func(*corev1.Pod, DecisionInputs) Decision{
	deletedOnUnreachable, daemonSet, mirrorPod, localStorage, unreplicated, podLabel, byRules,
}

// Decide returns the decision for pod.
func Decide(pod *corev1.Pod, inputs DecisionInputs) Decision {
	var d Decision
	var warnings []string
	for _, filter := range filters {
		d = filter(pod, inputs)
		warnings = append(warnings, d.Warnings...)
		if d.Behavior != BehaviorDrain {
			break
		}
	}
	d.Warnings = warnings
	return d
}

// deletedOnUnreachable skips deleted Pods on an unreachable Node after the grace period.
func deletedOnUnreachable(pod *corev1.Pod, inputs DecisionInputs) Decision {
	if inputs.Unreachable && pod.DeletionTimestamp != nil && inputs.Now.Sub(pod.DeletionTimestamp.Time) > unreachableGrace {
		return Decision{Behavior: BehaviorSkip, By: "Node unreachable"}
	}
	return Decision{Behavior: BehaviorDrain}
}

// daemonSet skips Pods of a DaemonSet, which would immediately recreate them on a cordoned Node.
func daemonSet(pod *corev1.Pod, inputs DecisionInputs) Decision {
	key, ok := daemonSetOf(pod)
	if !ok {
		return Decision{Behavior: BehaviorDrain}
	}
	found := inputs.DaemonSets[key]
	switch {
	case found.Err != nil:
		return newUndecided(found.Err)
	case found.Exists:
		return Decision{Behavior: BehaviorSkip, By: "DaemonSet " + key.Name, Warnings: []string{"ignoring DaemonSet-managed Pod"}}
	default:
		return Decision{Behavior: BehaviorDrain, Warnings: []string{"evicting orphaned DaemonSet-managed Pod"}}
	}
}

// daemonSetOf returns the DaemonSet that controls pod. ok is false if no DaemonSet controls the Pod, or if the Pod has
// terminated.
func daemonSetOf(pod *corev1.Pod) (types.NamespacedName, bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "DaemonSet" || isFinished(pod) {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: pod.Namespace, Name: owner.Name}, true
}

// mirrorPod skips mirror Pods, which represent static Pods of the kubelet.
func mirrorPod(pod *corev1.Pod, _ DecisionInputs) Decision {
	if _, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		return Decision{Behavior: BehaviorSkip, By: "static Pod"}
	}
	return Decision{Behavior: BehaviorDrain}
}

func localStorage(pod *corev1.Pod, _ DecisionInputs) Decision {
	d := Decision{Behavior: BehaviorDrain}
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].EmptyDir != nil && !isFinished(pod) {
			d.Warnings = []string{"evicting Pod with local storage"}
			break
		}
	}
	return d
}

func unreplicated(pod *corev1.Pod, _ DecisionInputs) Decision {
	d := Decision{Behavior: BehaviorDrain}
	if metav1.GetControllerOfNoCopy(pod) == nil && !isFinished(pod) {
		d.Warnings = []string{"evicting Pod that has no controller"}
	}
	return d
}

// podLabel applies the label of the Pod. Its value is case-insensitive, and both WaitCompleted and wait-completed are
// accepted.
func podLabel(pod *corev1.Pod, _ DecisionInputs) Decision {
	value, ok := pod.Labels[clusterv1alpha1.PodDrainLabel]
	by := "label " + clusterv1alpha1.PodDrainLabel
	switch {
	case !ok:
		return Decision{Behavior: BehaviorDrain}
	case strings.EqualFold(value, string(BehaviorSkip)):
		return Decision{Behavior: BehaviorSkip, By: by}
	case strings.EqualFold(strings.Replace(value, "-", "", 1), string(BehaviorWaitCompleted)):
		return Decision{Behavior: BehaviorWaitCompleted, By: by}
	default:
		return Decision{Behavior: BehaviorDrain, Warnings: []string{fmt.Sprintf("%s has the unknown value %q", by, value)}}
	}
}

func byRules(pod *corev1.Pod, inputs DecisionInputs) Decision {
	return inputs.Rules.decide(pod, func() (labels.Set, error) {
		if set, ok := inputs.Namespaces[pod.Namespace]; ok {
			return set, nil
		}
		return nil, fmt.Errorf("the labels of Namespace %s are not known", pod.Namespace)
	})
}

// isFinished reports whether a Pod has succeeded or failed.
func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
