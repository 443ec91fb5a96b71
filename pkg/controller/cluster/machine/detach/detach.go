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

// Retry is when volumes that are attached are looked at again, and not before.
const Retry = 20 * time.Second

// Check tells whether volumes are attached to the Node that are to be waited for. in is
// that of the drain, with the start of this stage.
func Check(ctx context.Context, client kubernetes.Interface, in drain.Input) (drain.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, drain.MaxReading)
	defer cancel()
	node, err := drain.ReadNode(ctx, client, in)
	if err != nil {
		return drain.Result{}, err
	}
	if node == nil || drain.Unreachable(node) {
		klog.FromContext(ctx).V(2).Info("Node is gone or unreachable, its volumes are not waited for", "node", in.Node)
		return drain.Result{Done: true}, nil
	}
	all, err := attachedTo(ctx, client, node)
	if err != nil {
		return drain.Result{}, err
	}
	if all.empty() {
		return drain.Result{Done: true}, nil
	}
	plan, err := drain.Look(ctx, client, node, in)
	if err != nil {
		return drain.Result{}, fmt.Errorf("finding the volumes that stay: %w", err)
	}
	w, err := match(ctx, client, all, claimsOf(plan.Skipped()))
	if err != nil {
		return drain.Result{}, err
	}
	return drain.Result{Done: w.done(), Message: w.message(in.Started)}, nil
}

// Bounds of what is read: how many objects at once, and how many that are attached. A VM of
// vSphere has at most 256 disks (configuration maximums of vSphere 8).
const (
	page        = 500
	maxAttached = 5000
)

// attachedTo reads what is attached to node.
func attachedTo(ctx context.Context, client kubernetes.Interface, node *corev1.Node) (attached, error) {
	all := attached{onNode: sets.Set[string]{}, volumes: sets.Set[string]{}, inline: sets.Set[string]{}}
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
			return "", fmt.Errorf("more than %d volumes are said to be attached", maxAttached)
		}
		return list.Continue, nil
	})
	if err != nil {
		return attached{}, fmt.Errorf("reading the VolumeAttachments of Node %s: %w", node.Name, err)
	}
	return all, nil
}

// match reads the PersistentVolumes of what is attached.
func match(ctx context.Context, client kubernetes.Interface, all attached, ignored sets.Set[types.NamespacedName]) (waiting, error) {
	w := newWaiting(all)
	err := drain.EachPage(ctx, metav1.ListOptions{Limit: page}, func(o metav1.ListOptions) (string, error) {
		list, err := client.CoreV1().PersistentVolumes().List(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			w.see(&list.Items[i], all, ignored)
		}
		return list.Continue, nil
	})
	if err != nil {
		return waiting{}, fmt.Errorf("reading PersistentVolumes: %w", err)
	}
	return w, nil
}
