// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// kindDefinition is of what artifacts/deploy/cluster-api makes for Cluster API to read.
const kindDefinition = "CustomResourceDefinition"

// optional are what components of artifacts/deploy make beside the base, and cluster-api: version,
// kind and names. Of these only names count, so that no component has to be built into virtctl.
var optional = []struct {
	version, kind string
	namespaced    bool
	names         []string
}{
	{"monitoring.coreos.com/v1", "ServiceMonitor", true, []string{Name}},
	{"monitoring.coreos.com/v1", "PrometheusRule", true, []string{"slipway"}},
	{"v1", "ConfigMap", true, []string{"slipway-dashboards"}},
	{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", false, []string{"slipway-metrics"}},
	{"rbac.authorization.k8s.io/v1", "ClusterRole", false, []string{"slipway-metrics", "slipway-cluster-api"}},
	{"v1", "Secret", true, []string{"slipway-metrics"}},
	{"v1", "ServiceAccount", true, []string{"slipway-metrics"}},
	{"networking.k8s.io/v1", "NetworkPolicy", true, []string{"slipway-egress"}},
	{"cert-manager.io/v1", "Certificate", true, []string{Name, "slipway-ca"}},
	{"cert-manager.io/v1", "Issuer", true, []string{"slipway-ca", "slipway-self-signed"}},
	{"apiextensions.k8s.io/v1", kindDefinition, false, []string{"slipwayclusters.vm.slipway.dev", "virtualmachines.vm.slipway.dev", "virtualmachinetemplates.vm.slipway.dev"}},
}

// Optional are the objects that may be there beside those of an installation, in the order in
// which they are removed. They have their names, and nothing else.
func Optional() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, some := range optional {
		for _, name := range some.names {
			u := &unstructured.Unstructured{}
			u.SetAPIVersion(some.version)
			u.SetKind(some.kind)
			u.SetName(name)
			if some.namespaced {
				u.SetNamespace(Namespace)
			}
			all = append(all, u)
		}
	}
	return all
}

// Marks is true for a definition that Cluster API reads as long as it has objects of its kind.
func Marks(u *unstructured.Unstructured) bool { return u.GetKind() == kindDefinition }
