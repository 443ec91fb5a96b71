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

// awaitAPI waits until the host cluster serves all that is installed.
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

// served tells whether the APIServices can be used, and if not what is waited for.
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

// awaitServer waits until the replicas are what was applied, and serve. Those of before served the
// API until then, and a single one is away in between.
func (i *install) awaitServer(ctx context.Context) error {
	names := deployment.APIServices(i.hostObjects)
	err := i.f.AwaitState(ctx, i.timeout, "not all replicas run as applied", func(ctx context.Context) (bool, string, error) {
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

// rolling says how far the replicas are from what the StatefulSet describes; it is empty at the end.
func rolling(set *appsv1.StatefulSet) string {
	wanted, is := ptr.Deref(set.Spec.Replicas, 1), set.Status
	switch {
	case is.ObservedGeneration < set.Generation:
		return "the host cluster has not seen the change yet"
	case is.UpdatedReplicas < wanted:
		return fmt.Sprintf("%d of %d replicas are updated", is.UpdatedReplicas, wanted)
	case is.ReadyReplicas < wanted:
		return fmt.Sprintf("%d of %d replicas are ready", is.ReadyReplicas, wanted)
	}
	return ""
}

// Unavailable says why an APIService cannot be used, and is empty when it can.
func (a *Applier) Unavailable(ctx context.Context, name string) (string, error) {
	api, err := a.Client.Resource(apiServiceResource).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	status, why := ConditionOf(api, "Available")
	if status != string(metav1.ConditionTrue) {
		return name + ": " + cmp.Or(why, "the host cluster has not looked for it yet"), nil
	}
	// The condition can be read a moment before requests are passed on.
	version, group, _ := strings.Cut(name, ".")
	if _, err := a.Discovery.ServerResourcesForGroupVersionWithContext(ctx, schema.GroupVersion{Group: group, Version: version}.String()); err != nil {
		return name + ": " + cli.Reason(err), nil
	}
	return "", nil
}

// ConditionOf is the status of a condition, and what it says. Both are empty when there is none.
func ConditionOf(o *unstructured.Unstructured, kind string) (status, says string) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") // what is no list has none
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

// WaitingPods says of the first pod of the server that waits for something why it does. It is
// only to help: what cannot be read is empty.
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

// waiting says why a pod does not run.
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

// awaitReady waits until an object of the server's says that it is.
func (i *install) awaitReady(ctx context.Context, o *unstructured.Unstructured) error {
	err := i.f.AwaitState(ctx, i.timeout, Called(o)+" is not ready", func(ctx context.Context) (bool, string, error) {
		got, err := i.cluster.resource(o).Get(ctx, o.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, "somebody has deleted it", err
		}
		if err != nil {
			return false, "", err
		}
		status, why := ConditionOf(got, "Ready")
		return status == string(metav1.ConditionTrue), fmt.Sprintf("waiting for %s: %s", Called(o), cmp.Or(why, "the server has not said anything yet")), nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(i.f.Streams.Out, Called(o), "ready")
	return err
}
