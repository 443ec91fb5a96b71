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

// maxFindings is the maximum number of unready objects of a kind that are listed individually.
const maxFindings = 10

// checkInstalled checks the server, and the objects that it needs to create virtual machines.
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

// checkReplicas checks the StatefulSet, which does not exist if the server was installed in another way.
func (c *check) checkReplicas(ctx context.Context) error {
	set, err := c.cluster.Server(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		c.lacks("cannot check the replicas: you have no permission to read statefulset/%s in namespace %s", deployment.Name, deployment.Namespace)
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
		why = "run kubectl get pods -n " + deployment.Namespace + " for details"
	}
	c.lacks("%d of %d replicas of the server are ready: %s", ready, wanted, why)
	return nil
}

// checkReady checks the condition Ready of all objects of a cluster-scoped resource.
func (c *check) checkReady(ctx context.Context, resource string) error {
	list, err := c.cluster.Client.Resource(vmv1alpha1.SchemeGroupVersion.WithResource(resource)).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		c.lacks("cannot check the %s: you have no permission to list them", resource)
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
		c.ok("all %s are ready (%d)", resource, len(list.Items))
	}
	for i, finding := range findings {
		if i == maxFindings {
			c.lacks("%d more %s are not ready: run kubectl get %s", len(findings)-i, resource, resource)
			break
		}
		c.lacks("%s", finding)
	}
	return nil
}

// unready returns why an object is not ready, or an empty string if it is.
func unready(o *unstructured.Unstructured) string {
	status, why := install.ConditionOf(o, vmv1alpha1.ConditionReady)
	if status == string(metav1.ConditionTrue) {
		return ""
	}
	return install.Called(o) + " is not ready: " + cmp.Or(why, "the server has not reported a status yet")
}
