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

// Behavior is what a drain does with a Pod.
type Behavior string

// Behaviors. The first three are also those of MachineDrainRules.
const (
	// BehaviorDrain evicts the Pod and waits until it is gone.
	BehaviorDrain Behavior = "Drain"
	// BehaviorSkip leaves the Pod alone and does not wait for it.
	BehaviorSkip Behavior = "Skip"
	// BehaviorWaitCompleted leaves the Pod alone and waits until it has succeeded or failed.
	BehaviorWaitCompleted Behavior = "WaitCompleted"
	// BehaviorUndecided leaves the Pod alone and waits until it can be told what to do with it.
	BehaviorUndecided Behavior = "Undecided"
)

// Decision is what a drain does with one Pod, and why.
type Decision struct {
	// Behavior is what is done.
	Behavior Behavior
	// Order is the group of the Pod. Groups go one after another, the lowest first. Only
	// Drain has another one than 0.
	Order int32
	// By is who decided, empty for the default.
	By string
	// Warnings are what somebody may want to know of a Pod that is evicted or skipped.
	Warnings []string
	// Err is why nothing was decided.
	Err error
}

func undecided(err error) Decision { return Decision{Behavior: BehaviorUndecided, Err: err} }

// Facts are what decisions are made from, beside the Pod.
type Facts struct {
	// Now is the time of the pass.
	Now time.Time
	// Unreachable is true for a Node whose kubelet no longer reports: its Pods do not go
	// when they are deleted.
	Unreachable bool
	// DaemonSets are those that control Pods of the Node, and whether they exist.
	DaemonSets map[types.NamespacedName]Existence
	// Namespaces has the labels of Namespaces by their names.
	Namespaces map[string]labels.Set
	// Rules are those of the Machine.
	Rules Rules
}

// Existence is whether something exists, or why that could not be read.
type Existence struct {
	// Exists is meaningful without Err.
	Exists bool
	// Err is why it could not be read.
	Err error
}

// unreachableGrace is the grace period of Pods on a Node that is unreachable, and how long
// after it they are still waited for: whoever does not report will not end them.
const unreachableGrace = time.Second

// filters are asked in this order. The first that skips a Pod, waits for it or cannot tell
// decides; warnings of those before are kept.
var filters = []func(*corev1.Pod, Facts) Decision{
	longDeleted, daemonSet, mirror, localStorage, unreplicated, label, byRules,
}

// Decide tells what a drain does with pod.
func Decide(pod *corev1.Pod, facts Facts) Decision {
	var d Decision
	var warnings []string
	for _, filter := range filters {
		d = filter(pod, facts)
		warnings = append(warnings, d.Warnings...)
		if d.Behavior != BehaviorDrain {
			break
		}
	}
	d.Warnings = warnings
	return d
}

// longDeleted skips what should be gone from a Node that does not report.
func longDeleted(pod *corev1.Pod, facts Facts) Decision {
	if facts.Unreachable && pod.DeletionTimestamp != nil && facts.Now.Sub(pod.DeletionTimestamp.Time) > unreachableGrace {
		return Decision{Behavior: BehaviorSkip, By: "Node unreachable"}
	}
	return Decision{Behavior: BehaviorDrain}
}

// daemonSet skips what a DaemonSet would make again at once, cordoned or not.
func daemonSet(pod *corev1.Pod, facts Facts) Decision {
	key, ok := daemonSetOf(pod)
	if !ok {
		return Decision{Behavior: BehaviorDrain}
	}
	found := facts.DaemonSets[key]
	switch {
	case found.Err != nil:
		return undecided(found.Err)
	case found.Exists:
		return Decision{Behavior: BehaviorSkip, By: "DaemonSet " + key.Name, Warnings: []string{"ignoring DaemonSet-managed Pod"}}
	default:
		return Decision{Behavior: BehaviorDrain, Warnings: []string{"evicting orphaned DaemonSet-managed Pod"}}
	}
}

// daemonSetOf is the DaemonSet that controls pod, if it is one and the Pod has not ended.
func daemonSetOf(pod *corev1.Pod) (types.NamespacedName, bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "DaemonSet" || finished(pod) {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: pod.Namespace, Name: owner.Name}, true
}

// mirror skips Pods that only show what the kubelet runs by itself.
func mirror(pod *corev1.Pod, _ Facts) Decision {
	if _, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		return Decision{Behavior: BehaviorSkip, By: "static Pod"}
	}
	return Decision{Behavior: BehaviorDrain}
}

func localStorage(pod *corev1.Pod, _ Facts) Decision {
	d := Decision{Behavior: BehaviorDrain}
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].EmptyDir != nil && !finished(pod) {
			d.Warnings = []string{"evicting Pod with local storage"}
			break
		}
	}
	return d
}

func unreplicated(pod *corev1.Pod, _ Facts) Decision {
	d := Decision{Behavior: BehaviorDrain}
	if metav1.GetControllerOfNoCopy(pod) == nil && !finished(pod) {
		d.Warnings = []string{"evicting Pod that has no controller"}
	}
	return d
}

// label obeys the label of the Pod, in any case of its letters, and with or without the
// hyphen of wait-completed.
func label(pod *corev1.Pod, _ Facts) Decision {
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

func byRules(pod *corev1.Pod, facts Facts) Decision {
	return facts.Rules.decide(pod, func() (labels.Set, error) {
		if set, ok := facts.Namespaces[pod.Namespace]; ok {
			return set, nil
		}
		return nil, fmt.Errorf("the labels of Namespace %s are not known", pod.Namespace)
	})
}

// finished is true for a Pod whose containers have ended for good.
func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
