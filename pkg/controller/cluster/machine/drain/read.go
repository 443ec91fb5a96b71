// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// Input is the input of one reconcile of a drain.
type Input struct {
	// Node is the name of the Node.
	Node string
	// ProviderID is the provider ID of the Machine. A Node with the same name but another provider ID is not its Node.
	ProviderID string
	// Machine and Cluster are the labels of the Machine and the Cluster.
	Machine, Cluster labels.Set
	// Rules are all MachineDrainRules in the namespace of the Machine.
	Rules []*clusterv1alpha1.MachineDrainRule
	// Started is the start of this stage of the deletion.
	Started time.Time
	// Now is the time of the reconcile.
	Now time.Time
}

// ReadNode returns the Node of a Machine. It returns nil if the Node does not exist, or if another machine has
// registered under its name.
func ReadNode(ctx context.Context, client kubernetes.Interface, in Input) (*corev1.Node, error) {
	node, err := client.CoreV1().Nodes().Get(ctx, in.Node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Node %s: %w", in.Node, err)
	case node.Spec.ProviderID != "" && in.ProviderID != "" && !strings.EqualFold(node.Spec.ProviderID, in.ProviderID):
		return nil, nil
	}
	return node, nil
}

// IsUnreachable reports whether the kubelet of a Node has stopped reporting.
func IsUnreachable(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown
		}
	}
	return false
}

// ReadPlan reads the Pods of node and returns the plan of a drain. It changes nothing.
func ReadPlan(ctx context.Context, client kubernetes.Interface, node *corev1.Node, in Input) (Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, MaxReading)
	defer cancel()
	pods, err := podsOf(ctx, client, node.Name)
	if err != nil {
		return nil, err
	}
	rules := RulesFor(in.Rules, in.Machine, in.Cluster)
	inputs := DecisionInputs{Now: in.Now, Unreachable: IsUnreachable(node), DaemonSets: daemonSetsOf(ctx, client, pods), Rules: rules}
	if rules.selectNamespaces() {
		if inputs.Namespaces, err = namespacesOf(ctx, client, pods); err != nil {
			return nil, err
		}
	}
	return NewPlan(pods, inputs), nil
}

func podsOf(ctx context.Context, client kubernetes.Interface, node string) ([]*corev1.Pod, error) {
	var pods []*corev1.Pod
	size := 0
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(), Limit: podPage}
	err := EachPage(ctx, options, func(o metav1.ListOptions) (string, error) {
		list, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, o)
		if err != nil {
			return "", err
		}
		if len(pods)+len(list.Items) > maxPods {
			return "", fmt.Errorf("the Node has more than %d", maxPods)
		}
		for i := range list.Items {
			pod := stripPod(&list.Items[i])
			// Empty Pods, volumes and labels also take memory.
			if size += pod.Size() + 1<<10 + 256*len(pod.Spec.Volumes) + 64*len(pod.Labels); size > maxPodBytes {
				return "", fmt.Errorf("they exceed the limit of %d bytes", maxPodBytes)
			}
			pods = append(pods, pod)
		}
		return list.Continue, nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the Pods of Node %s: %w", node, err)
	}
	return pods, nil
}

// stripPod returns the fields of a Pod that decisions are based on. The other fields may have any size.
func stripPod(pod *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Labels: pod.Labels,
		DeletionTimestamp: pod.DeletionTimestamp,
	}}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		out.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	out.Status.Phase = pod.Status.Phase
	if hash, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		out.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: hash}
	}
	for i := range pod.Spec.Volumes {
		v := corev1.Volume{Name: pod.Spec.Volumes[i].Name}
		switch from := &pod.Spec.Volumes[i]; {
		case from.EmptyDir != nil:
			v.EmptyDir = &corev1.EmptyDirVolumeSource{}
		case from.PersistentVolumeClaim != nil:
			v.PersistentVolumeClaim = from.PersistentVolumeClaim
		case from.Ephemeral != nil:
			v.Ephemeral = &corev1.EphemeralVolumeSource{}
		default:
			continue
		}
		out.Spec.Volumes = append(out.Spec.Volumes, v)
	}
	return out
}

// daemonSetsOf reads the DaemonSets that control pods, once each.
func daemonSetsOf(ctx context.Context, client kubernetes.Interface, pods []*corev1.Pod) map[types.NamespacedName]Existence {
	found := map[types.NamespacedName]Existence{}
	for _, pod := range pods {
		key, ok := daemonSetOf(pod)
		if _, known := found[key]; !ok || known {
			continue
		}
		_, err := client.AppsV1().DaemonSets(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
		switch {
		case err == nil:
			found[key] = Existence{Exists: true}
		case apierrors.IsNotFound(err):
			found[key] = Existence{}
		default:
			found[key] = Existence{Err: fmt.Errorf("reading DaemonSet %s: %w", key, err)}
		}
	}
	return found
}

// namespacesOf reads the labels of the Namespaces of pods. Namespaces that do not exist are omitted.
func namespacesOf(ctx context.Context, client kubernetes.Interface, pods []*corev1.Pod) (map[string]labels.Set, error) {
	found := map[string]labels.Set{}
	for _, pod := range pods {
		if _, ok := found[pod.Namespace]; ok {
			continue
		}
		namespace, err := client.CoreV1().Namespaces().Get(ctx, pod.Namespace, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading Namespace %s: %w", pod.Namespace, err)
		}
		if err == nil {
			found[pod.Namespace] = namespace.Labels
		}
	}
	return found, nil
}
