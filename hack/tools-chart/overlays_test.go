// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func TestOverlays_MatchTheTypesOfOtherProjects(t *testing.T) {
	seen := map[string]int{}
	for _, dir := range []string{"overlays/monitoring", "overlays/cert-manager", "components/etcd-cert-manager"} {
		made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../../artifacts/deploy/"+dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range made.Resources() {
			kinds := map[string]any{
				"monitoring.coreos.com ServiceMonitor": &monitoringv1.ServiceMonitor{}, "monitoring.coreos.com PrometheusRule": &monitoringv1.PrometheusRule{},
				"cert-manager.io Certificate": &certmanagerv1.Certificate{}, "cert-manager.io Issuer": &certmanagerv1.Issuer{},
			}
			kind := r.GetGvk().Group + " " + r.GetKind()
			into, ok := kinds[kind]
			if !ok {
				continue
			}
			seen[kind]++
			text, err := r.AsYAML()
			if err == nil {
				err = yaml.UnmarshalStrict(text, into)
			}
			if err != nil {
				t.Errorf("%s %s: %v", kind, r.GetName(), err)
			}
		}
	}
	if len(seen) != 4 {
		t.Errorf("checked only the kinds %v", seen)
	}
}
