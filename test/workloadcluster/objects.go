// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadcluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// AddNode creates a ready Node, as a kubelet that has joined does. change is applied before.
func (c *Cluster) AddNode(ctx context.Context, name, providerID string, change ...func(*corev1.Node)) (*corev1.Node, error) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"}},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{
				condition(corev1.NodeMemoryPressure, corev1.ConditionFalse), condition(corev1.NodeDiskPressure, corev1.ConditionFalse),
				condition(corev1.NodePIDPressure, corev1.ConditionFalse), condition(corev1.NodeReady, corev1.ConditionTrue),
			},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			NodeInfo: corev1.NodeSystemInfo{
				MachineID: name, KubeletVersion: "v1.37.2", OSImage: "Test 1", OperatingSystem: "linux", Architecture: "amd64",
				KernelVersion: "6.1", ContainerRuntimeVersion: "containerd://2.2",
			},
		},
	}
	for _, f := range change {
		f(node)
	}
	made, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("making Node %s: %w", name, err)
	}
	return made, nil
}

// AddPod creates a Pod on a Node. It runs immediately. change is applied before the creation.
func (c *Cluster) AddPod(ctx context.Context, namespace, name, node string, change ...func(*corev1.Pod)) (*corev1.Pod, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "test"}}},
	}
	for _, f := range change {
		f(pod)
	}
	made, err := c.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("making Pod %s/%s: %w", namespace, name, err)
	}
	return made, nil
}

// SetReady sets the condition Ready of a Node. The node lifecycle controller sets Unknown if a kubelet is silent.
func (c *Cluster) SetReady(ctx context.Context, name string, status corev1.ConditionStatus) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := range node.Status.Conditions {
			if node.Status.Conditions[i].Type == corev1.NodeReady {
				node.Status.Conditions[i] = condition(corev1.NodeReady, status)
			}
		}
		_, err = c.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("setting Ready of Node %s: %w", name, err)
	}
	return nil
}

func condition(of corev1.NodeConditionType, status corev1.ConditionStatus) corev1.NodeCondition {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	reasons := map[corev1.ConditionStatus]string{corev1.ConditionTrue: "KubeletReady", corev1.ConditionFalse: "KubeletNotReady", corev1.ConditionUnknown: "NodeStatusUnknown"}
	reason, message := reasons[status], "set by the test"
	if of != corev1.NodeReady {
		reason = "KubeletHas" + string(of)
	}
	return corev1.NodeCondition{Type: of, Status: status, Reason: reason, Message: message, LastTransitionTime: now, LastHeartbeatTime: now}
}
