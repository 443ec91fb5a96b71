// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package detach

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
)

// Retry is the interval of checks while volumes are attached.
const Retry = 20 * time.Second

// Check checks which volumes of the Node must be waited for. in.Started is the start of this stage.
func Check(ctx context.Context, client kubernetes.Interface, in drain.Input) (drain.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, drain.ReadTimeout)
	defer cancel()
	node, err := drain.ReadNode(ctx, client, in)
	if err != nil {
		return drain.Result{}, err
	}
	if node == nil || drain.IsUnreachable(node) {
		klog.FromContext(ctx).V(2).Info("Not waiting for volumes, because the Node is deleted or unreachable", "node", in.Node)
		return drain.Result{Done: true}, nil
	}
	all, err := attachedTo(ctx, client, node)
	if err != nil {
		return drain.Result{}, err
	}
	if all.isEmpty() {
		return drain.Result{Done: true}, nil
	}
	plan, err := drain.ReadPlan(ctx, client, node, in)
	if err != nil {
		return drain.Result{}, fmt.Errorf("finding the volumes of Pods that are not drained: %w", err)
	}
	w, err := match(ctx, client, all, claimsOf(plan.Skipped()))
	if err != nil {
		return drain.Result{}, err
	}
	return drain.Result{Done: w.isEmpty(), Message: w.message(in.Started)}, nil
}

// Limits of lists: the page size, and the number of attached volumes. A vSphere VM has at most 256 disks (configuration
// maximums of vSphere 8).
const (
	page        = 500
	maxAttached = 5000
)

// attachedTo reads the volumes that are attached to node.
func attachedTo(ctx context.Context, client kubernetes.Interface, node *corev1.Node) (attachedVolumes, error) {
	all := attachedVolumes{onNode: sets.Set[string]{}, volumes: sets.Set[string]{}, inline: sets.Set[string]{}}
	for _, v := range node.Status.VolumesAttached {
		all.onNode.Insert(string(v.Name))
	}
	err := drain.EachPage(ctx, metav1.ListOptions{Limit: page}, func(o metav1.ListOptions) (string, error) {
		list, err := client.StorageV1().VolumeAttachments().List(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			all.add(&list.Items[i], node.Name)
		}
		if all.len() > maxAttached {
			return "", fmt.Errorf("more than %d volumes are reported as attached", maxAttached)
		}
		return list.Continue, nil
	})
	if err != nil {
		return attachedVolumes{}, fmt.Errorf("reading the VolumeAttachments of Node %s: %w", node.Name, err)
	}
	return all, nil
}

// match reads the PersistentVolumes of the attached volumes.
func match(ctx context.Context, client kubernetes.Interface, all attachedVolumes, ignored sets.Set[types.NamespacedName]) (pendingVolumes, error) {
	w := newPendingVolumes(all)
	err := drain.EachPage(ctx, metav1.ListOptions{Limit: page}, func(o metav1.ListOptions) (string, error) {
		list, err := client.CoreV1().PersistentVolumes().List(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			w.addVolume(&list.Items[i], all, ignored)
		}
		return list.Continue, nil
	})
	if err != nil {
		return pendingVolumes{}, fmt.Errorf("reading PersistentVolumes: %w", err)
	}
	return w, nil
}
