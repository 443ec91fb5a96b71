// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package artifacts

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// marker contains the tested fields of a CustomResourceDefinition for Cluster API.
type marker struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Group    string
		Versions []struct {
			Name   string
			Served *bool
		}
	}
}

// A definition with a served version would replace the API of virtual machines. A label with another version would
// make Cluster API request a version that does not exist.
func TestMarkers_ServeNothingAndHaveTheVersion(t *testing.T) {
	data, err := os.ReadFile("deploy/cluster-api/markers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		var m marker
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, m.Name)
		version := vmv1alpha1.SchemeGroupVersion.Version
		if got := m.Labels["cluster.x-k8s.io/v1beta2"]; got != version || m.Spec.Group != vmv1alpha1.GroupName {
			t.Errorf("%s: group %q, version %q for the contract v1beta2, want %q", m.Name, m.Spec.Group, got, version)
		}
		for _, v := range m.Spec.Versions {
			if v.Served == nil || *v.Served || v.Name != version {
				t.Errorf("%s: version %+v, want %s, which is not served", m.Name, v, version)
			}
		}
	}
	want := []string{"virtualmachines.vm.slipway.dev", "virtualmachinetemplates.vm.slipway.dev", "slipwayclusters.vm.slipway.dev"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
}
