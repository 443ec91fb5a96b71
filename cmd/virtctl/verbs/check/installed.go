// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/cmd/virtctl/deployment"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/install"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// maxFindings is how many objects of a kind that are not ready are told one by one.
const maxFindings = 10

// checkInstalled looks at what serves the API, and at what it needs to make virtual machines.
func (c *check) checkInstalled(ctx context.Context) error {
	if err := c.checkReplicas(ctx); err != nil || !c.served {
		return err
	}
	for _, resource := range []string{install.VCentersResource, "zones"} {
		if err := c.checkReady(ctx, resource); err != nil {
			return err
		}
	}
	return nil
}

// checkReplicas looks at the StatefulSet. A server that was started in another way has none.
func (c *check) checkReplicas(ctx context.Context) error {
	set, err := c.cluster.Server(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		c.lacks("whether all replicas run is in statefulset/%s of namespace %s, which you may not read", deployment.Name, deployment.Namespace)
		return nil
	case err != nil:
		return err
	}
	ready, wanted := set.Status.ReadyReplicas, ptr.Deref(set.Spec.Replicas, 1)
	if ready >= wanted && wanted > 0 {
		c.ok("%d of %d replicas of the server are ready", ready, wanted)
		return nil
	}
	why := c.cluster.WaitingPods(ctx)
	if why == "" {
		why = "kubectl get pods -n " + deployment.Namespace + " tells which"
	}
	c.lacks("%d of %d replicas of the server are ready: %s", ready, wanted, why)
	return nil
}

// checkReady looks at the condition Ready of all objects of a resource of the cluster's.
func (c *check) checkReady(ctx context.Context, resource string) error {
	list, err := c.cluster.Client.Resource(vmv1alpha1.SchemeGroupVersion.WithResource(resource)).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		c.lacks("whether the %s are ready is for those to see who may list them; you may not", resource)
		return nil
	case err != nil:
		return fmt.Errorf("listing %s: %w", resource, err)
	}
	var findings []string
	for i := range list.Items {
		if why := unready(&list.Items[i]); why != "" {
			findings = append(findings, why)
		}
	}
	if len(findings) == 0 && len(list.Items) > 0 {
		c.ok("all %s are ready: %d", resource, len(list.Items))
	}
	for i, finding := range findings {
		if i == maxFindings {
			c.lacks("%d more %s are not ready: kubectl get %s", len(findings)-i, resource, resource)
			break
		}
		c.lacks("%s", finding)
	}
	return nil
}

// unready says why an object is not, and is empty when it is.
func unready(o *unstructured.Unstructured) string {
	status, why := install.ConditionOf(o, vmv1alpha1.ConditionReady)
	if status == string(metav1.ConditionTrue) {
		return ""
	}
	return install.Called(o) + " is not ready: " + cmp.Or(why, "the server has not said anything yet")
}
