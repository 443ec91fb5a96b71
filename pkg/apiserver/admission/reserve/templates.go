// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reserve

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Templates rejects templates with large annotations, because controllers copy them to many objects.
type Templates struct {
	*admission.Handler
	most int
}

var _ admission.ValidationInterface = &Templates{}

// NewTemplates returns the check. most is the maximum total size of the annotations in bytes.
func NewTemplates(most int) *Templates {
	return &Templates{Handler: admission.NewHandler(admission.Create, admission.Update), most: most}
}

// Validate rejects the request with a Forbidden error, unless the annotations were at least as large before.
func (t *Templates) Validate(_ context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	size := annotationsSize(request.GetObject())
	if size <= t.most || size <= annotationsSize(request.GetOldObject()) {
		return nil
	}
	return admission.NewForbidden(request, fmt.Errorf(
		"spec.template.metadata.annotations: total size is %d bytes; the maximum is %d (--max-template-annotations-bytes)", size, t.most))
}

// annotationsSize returns the size of the annotations that obj gives to objects created from it.
func annotationsSize(obj runtime.Object) (size int) {
	var annotations map[string]string
	switch o := obj.(type) {
	case *vmv1alpha1.VirtualMachineTemplate:
		annotations = o.Spec.Template.Metadata.Annotations
	case *clusterv1alpha1.MachineSet:
		annotations = o.Spec.Template.Metadata.Annotations
	case *clusterv1alpha1.MachineDeployment:
		annotations = o.Spec.Template.Metadata.Annotations
	}
	for key, value := range annotations {
		size += len(key) + len(value)
	}
	return size
}
