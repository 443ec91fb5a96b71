// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-dev/slipway/cmd/virtctl/deployment"
)

var createOptions = metav1.CreateOptions{}

// needed lists the resources that the server uses in the management cluster and that not every supported Kubernetes
// version has, by group and version.
var needed = map[string][]string{
	"apiregistration.k8s.io/v1":       {"apiservices"},
	"admissionregistration.k8s.io/v1": {"validatingadmissionpolicies", "validatingwebhookconfigurations"},
	"flowcontrol.apiserver.k8s.io/v1": {"flowschemas", "prioritylevelconfigurations"},
	"coordination.k8s.io/v1":          {"leases"},
	"events.k8s.io/v1":                {"events"},
	"discovery.k8s.io/v1":             {"endpointslices"},
}

// checkCluster checks the management cluster.
func (c *check) checkCluster(ctx context.Context) error {
	version, err := c.cluster.Discovery.ServerVersionWithContext(ctx)
	if err != nil {
		return fmt.Errorf("reading the version of the cluster: %w", err)
	}
	lacking := c.unserved(ctx)
	for _, name := range lacking {
		c.lacks("Kubernetes %s does not serve %s, which slipway-apiserver requires: upgrade Kubernetes", version.GitVersion, name)
	}
	if len(lacking) == 0 {
		c.ok("Kubernetes %s", version.GitVersion)
	}
	if err := c.checkAggregation(ctx); err != nil {
		return err
	}
	host, _, err := deployment.Objects(deployment.Options{})
	if err != nil {
		return err
	}
	installed, err := c.checkAPIs(ctx, deployment.APIServices(host))
	switch {
	case err != nil:
		return err
	case installed:
		return c.checkInstalled(ctx)
	}
	return c.checkRights(ctx, host)
}

// unserved returns the kinds of needed that the cluster does not serve, sorted.
func (c *check) unserved(ctx context.Context) []string {
	var lacking []string
	for version, resources := range needed {
		list, err := c.cluster.Discovery.ServerResourcesForGroupVersionWithContext(ctx, version)
		for _, resource := range resources {
			if err != nil || !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }) {
				lacking = append(lacking, version+" "+resource)
			}
		}
	}
	slices.Sort(lacking)
	return lacking
}

// checkAggregation checks the configuration that kube-apiserver publishes for aggregated servers. Without it they
// cannot identify the users of requests.
func (c *check) checkAggregation(ctx context.Context) error {
	const name, key = "extension-apiserver-authentication", "requestheader-client-ca-file"
	said, err := c.host.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		c.lacks("cannot check the aggregation layer: you have no permission to read ConfigMap %s/%s", metav1.NamespaceSystem, name)
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("reading ConfigMap %s/%s: %w", metav1.NamespaceSystem, name, err)
	case err != nil || said.Data[key] == "":
		c.lacks("the aggregation layer is disabled: start kube-apiserver with --requestheader-client-ca-file, --proxy-client-cert-file and --proxy-client-key-file")
	default:
		c.ok("the aggregation layer is enabled")
	}
	return nil
}

// checkAPIs checks the installed APIServices. It returns false if none exists.
func (c *check) checkAPIs(ctx context.Context, names []string) (installed bool, err error) {
	absent, served := map[string]bool{}, 0
	for _, name := range names {
		why, err := c.cluster.Unavailable(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			absent[name] = true
		case err != nil:
			return false, fmt.Errorf("reading APIService %s: %w", name, err)
		case why != "":
			c.lacks("APIService %s", why)
		default:
			served++
			c.ok("APIService %s is available", name)
		}
	}
	c.served = served == len(names)
	if len(absent) == len(names) {
		c.ok("Slipway is not installed yet")
		return false, nil
	}
	for _, name := range names {
		if absent[name] {
			c.lacks("APIService %s does not exist: run virtctl install --apply", name)
		}
	}
	return true, nil
}

// checkRights checks the permissions that an installation requires.
func (c *check) checkRights(ctx context.Context, objects []*unstructured.Unstructured) error {
	asked := map[authorizationv1.ResourceAttributes]bool{}
	lacking := false
	ask := func(what authorizationv1.ResourceAttributes) error {
		if asked[what] {
			return nil
		}
		asked[what] = true
		may, err := c.may(ctx, what)
		if err != nil || may {
			return err
		}
		lacking = true
		where := "the cluster"
		if what.Namespace != "" {
			where = "namespace " + what.Namespace
		}
		c.lacks("you have no permission to %s %s in %s", what.Verb, (&metav1.GroupResource{Group: what.Group, Resource: what.Resource}).String(), where)
		return nil
	}
	for _, o := range objects {
		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind()) // exact for these kinds
		for _, verb := range []string{"get", "create", "patch"} {
			if err := ask(authorizationv1.ResourceAttributes{Group: resource.Group, Resource: resource.Resource, Namespace: o.GetNamespace(), Verb: verb}); err != nil {
				return err
			}
		}
	}
	// To grant permissions, a user must have them or one of these two.
	for _, verb := range []string{"escalate", "bind"} {
		if err := ask(authorizationv1.ResourceAttributes{Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Verb: verb}); err != nil {
			return err
		}
	}
	if !lacking {
		c.ok("you have the permissions that an installation requires")
	}
	return nil
}
