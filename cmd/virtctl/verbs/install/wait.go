// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/deployment"
)

var (
	apiServiceResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	podResource        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// awaitAPI waits until the management cluster serves all installed APIs.
func (i *install) awaitAPI(ctx context.Context) error {
	names := deployment.APIServices(i.hostObjects)
	err := i.f.AwaitState(ctx, i.timeout, "the API is not available", func(ctx context.Context) (bool, string, error) {
		return i.served(ctx, names)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(i.f.Streams.Out, "the API is available: %s\n", strings.Join(names, ", "))
	return err
}

// served reports whether the APIServices are available, and otherwise what is missing.
func (i *install) served(ctx context.Context, names []string) (bool, string, error) {
	for _, name := range names {
		lacks, err := i.cluster.Unavailable(ctx, name)
		if err != nil {
			return false, "", err
		}
		if lacks != "" {
			return false, "waiting for the API: " + cmp.Or(i.cluster.WaitingPods(ctx), lacks), nil
		}
	}
	return true, "", nil
}

// awaitServer waits until the replicas are updated and ready. Until then, the previous replicas serve the API; a
// single replica is unavailable during the update.
func (i *install) awaitServer(ctx context.Context) error {
	names := deployment.APIServices(i.hostObjects)
	err := i.f.AwaitState(ctx, i.timeout, "not all replicas are updated and ready", func(ctx context.Context) (bool, string, error) {
		set, err := i.cluster.Server(ctx)
		if err != nil {
			return false, "", err
		}
		if lacks := rolling(set); lacks != "" {
			if pods := i.cluster.WaitingPods(ctx); pods != "" {
				lacks += ": " + pods
			}
			return false, "waiting for the server: " + lacks, nil
		}
		return i.served(ctx, names)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(i.f.Streams.Out, "statefulset/%s ready\n", deployment.Name)
	return err
}

// rolling returns the progress of the StatefulSet's update, empty when it is complete.
func rolling(set *appsv1.StatefulSet) string {
	wanted, is := ptr.Deref(set.Spec.Replicas, 1), set.Status
	switch {
	case is.ObservedGeneration < set.Generation:
		return "the cluster has not observed the change yet"
	case is.UpdatedReplicas < wanted:
		return fmt.Sprintf("%d of %d replicas are updated", is.UpdatedReplicas, wanted)
	case is.ReadyReplicas < wanted:
		return fmt.Sprintf("%d of %d replicas are ready", is.ReadyReplicas, wanted)
	}
	return ""
}

// Unavailable returns why an APIService is not available, or an empty string if it is.
func (a *Applier) Unavailable(ctx context.Context, name string) (string, error) {
	api, err := a.Client.Resource(apiServiceResource).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	status, why := ConditionOf(api, "Available")
	if status != string(metav1.ConditionTrue) {
		return name + ": " + cmp.Or(why, "the cluster has not checked it yet"), nil
	}
	// The condition can become True a moment before requests are forwarded.
	version, group, _ := strings.Cut(name, ".")
	if _, err := a.Discovery.ServerResourcesForGroupVersionWithContext(ctx, schema.GroupVersion{Group: group, Version: version}.String()); err != nil {
		return name + ": " + cli.Reason(err), nil
	}
	return "", nil
}

// ConditionOf returns the status and the message of a condition. Both are empty if there is none.
func ConditionOf(o *unstructured.Unstructured, kind string) (status, says string) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") // anything but a list has no conditions
	for _, entry := range conditions {
		c, ok := entry.(map[string]any)
		if !ok || c["type"] != kind {
			continue
		}
		status, _ = c["status"].(string)
		reason, _ := c["reason"].(string)
		message, _ := c["message"].(string)
		return status, strings.TrimSuffix(reason+": "+message, ": ")
	}
	return "", ""
}

// WaitingPods returns why the server's first waiting pod waits. It is best effort: an unreadable pod yields an empty
// string.
func (a *Applier) WaitingPods(ctx context.Context) string {
	pods, err := a.Client.Resource(podResource).Namespace(deployment.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + deployment.Name})
	if err != nil {
		return ""
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if why := waiting(pod); why != "" {
			return "pod " + pod.GetName() + ": " + why
		}
	}
	return ""
}

// waiting returns why a pod does not run.
func waiting(pod *unstructured.Unstructured) string {
	if status, why := ConditionOf(pod, "PodScheduled"); status == string(metav1.ConditionFalse) {
		return why
	}
	containers, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	for _, entry := range containers {
		c, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		reason, _, _ := unstructured.NestedString(c, "state", "waiting", "reason")
		message, _, _ := unstructured.NestedString(c, "state", "waiting", "message")
		if reason != "" {
			return strings.TrimSuffix(reason+": "+message, ": ")
		}
	}
	return ""
}

// awaitReady waits until an object of Slipway's API is Ready.
func (i *install) awaitReady(ctx context.Context, o *unstructured.Unstructured) error {
	err := i.f.AwaitState(ctx, i.timeout, Called(o)+" is not ready", func(ctx context.Context) (bool, string, error) {
		got, err := i.cluster.resource(o).Get(ctx, o.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, "another client deleted it", err
		}
		if err != nil {
			return false, "", err
		}
		status, why := ConditionOf(got, "Ready")
		return status == string(metav1.ConditionTrue), fmt.Sprintf("waiting for %s: %s", Called(o), cmp.Or(why, "the server has not reported a status yet")), nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(i.f.Streams.Out, Called(o), "ready")
	return err
}
