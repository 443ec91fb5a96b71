// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	genericapiserver "k8s.io/apiserver/pkg/server"
	openapibuilder3 "k8s.io/kube-openapi/pkg/builder3"
	openapiutil "k8s.io/kube-openapi/pkg/util"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// machineOwners records field owners of a VirtualMachine for subresources whose body is another kind. For other
// endpoints the API server library does this.
type machineOwners struct {
	types managedfields.TypeConverter
}

func newMachineOwners(c genericapiserver.CompletedConfig) (*machineOwners, error) {
	schemas, err := openapibuilder3.BuildOpenAPIDefinitionsForResources(c.OpenAPIV3Config,
		openapiutil.GetCanonicalTypeName(&vmv1alpha1.VirtualMachine{}))
	if err != nil {
		return nil, fmt.Errorf("building the schema of VirtualMachine: %w", err)
	}
	types, err := managedfields.NewTypeConverter(schemas, false)
	if err != nil {
		return nil, fmt.Errorf("reading the schema of VirtualMachine: %w", err)
	}
	return &machineOwners{types: types}, nil
}

// Record implements storage.FieldOwners. If the fields cannot be compared, it returns updated unchanged, as other
// endpoints do.
func (o *machineOwners) Record(stored, updated runtime.Object, owner, subresource string) runtime.Object {
	kind := vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine")
	hub := schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}
	fields, err := managedfields.NewDefaultFieldManager(o.types, runtime.UnsafeObjectConvertor(scheme.Scheme), scheme.Scheme, scheme.Scheme, kind, hub, subresource, nil)
	if err != nil {
		return updated
	}
	return fields.UpdateNoErrors(stored, updated, owner)
}
