// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadcluster

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
)

// kubelet does for Pods of all Nodes the part of a kubelet's work that affects a drain, and assigns Pods of DaemonSets
// to their Nodes.
type kubelet struct {
	client kubernetes.Interface
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

func newKubelet(client kubernetes.Interface) *kubelet {
	return &kubelet{client: client, queue: workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](10*time.Millisecond, time.Second))}
}

func (k *kubelet) run(ctx context.Context) {
	factory := informers.NewSharedInformerFactory(k.client, 0)
	pods := factory.Core().V1().Pods()
	enqueue := func(obj any) {
		if name, err := cache.ObjectToName(obj); err == nil {
			k.queue.Add(name)
		}
	}
	_, _ = pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, now any) { enqueue(now) },
	})
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	defer context.AfterFunc(ctx, k.queue.ShutDown)()
	for {
		name, shutdown := k.queue.Get()
		if shutdown {
			return
		}
		pod, err := pods.Lister().Pods(name.Namespace).Get(name.Name)
		if err == nil {
			err = k.sync(ctx, pod.DeepCopy())
		}
		if err != nil && !apierrors.IsNotFound(err) {
			k.queue.AddRateLimited(name)
		} else {
			k.queue.Forget(name)
		}
		k.queue.Done(name)
	}
}

func (k *kubelet) sync(ctx context.Context, pod *corev1.Pod) error {
	pods := k.client.CoreV1().Pods(pod.Namespace)
	node := pod.Spec.NodeName
	switch {
	case pod.DeletionTimestamp != nil && node != "":
		if ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0 {
			return nil // a finalizer blocks the deletion
		}
		return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
	case pod.DeletionTimestamp != nil:
		return nil
	case node == "":
		if node = daemonNode(pod); node == "" {
			return nil
		}
		return pods.Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: node},
		}, metav1.CreateOptions{})
	case pod.Status.Phase == corev1.PodPending || pod.Status.Phase == "":
		now := metav1.NewTime(time.Now().Truncate(time.Second))
		pod.Status.Phase = corev1.PodRunning
		pod.Status.StartTime = &now
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}}
		_, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err
	}
	return nil
}

// daemonNode returns the Node to which a Pod of a DaemonSet belongs.
func daemonNode(pod *corev1.Pod) string {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range term.MatchFields {
			if f.Key == metav1.ObjectNameField && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}
