// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
)

// ReadZones reads the Zones of a manifest, which may be several documents or a list. It ignores other kinds.
func ReadZones(in io.Reader) ([]vmv1alpha1.Zone, error) {
	var zones []vmv1alpha1.Zone
	documents := yaml.NewYAMLOrJSONDecoder(in, 4096)
	for {
		var list struct {
			metav1.TypeMeta `json:",inline"`
			Items           []vmv1alpha1.Zone `json:"items"`
		}
		var raw runtime.RawExtension
		err := documents.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && len(raw.Raw) > 0 {
			err = json.Unmarshal(raw.Raw, &list)
		}
		if err == nil && list.Kind == "Zone" {
			list.Items = make([]vmv1alpha1.Zone, 1)
			err = json.Unmarshal(raw.Raw, &list.Items[0])
		}
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if z := &list.Items[i]; list.Kind == "Zone" || z.Kind == "Zone" || list.Kind == "ZoneList" {
				if errs := validation.ValidateZone(z); len(errs) > 0 {
					return nil, fmt.Errorf("zone %s: %w", z.Name, errs.ToAggregate())
				}
				zones = append(zones, *z)
			}
		}
	}
	if len(zones) == 0 {
		return nil, errors.New("the file contains no Zone")
	}
	return zones, nil
}
