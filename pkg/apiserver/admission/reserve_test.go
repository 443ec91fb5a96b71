// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/reserve"
)

func TestTemplates_AnnotationsAreLimited(t *testing.T) {
	of := map[string]func(annotations map[string]string) runtime.Object{
		"VirtualMachineTemplate": func(annotations map[string]string) runtime.Object {
			o := &vmv1alpha1.VirtualMachineTemplate{}
			o.Spec.Template.Metadata.Annotations = annotations
			return o
		},
		"MachineSet": func(annotations map[string]string) runtime.Object {
			o := &clusterv1alpha1.MachineSet{}
			o.Spec.Template.Metadata.Annotations = annotations
			return o
		},
		"MachineDeployment": func(annotations map[string]string) runtime.Object {
			o := &clusterv1alpha1.MachineDeployment{}
			o.Spec.Template.Metadata.Annotations = annotations
			return o
		},
	}
	annotations := func(size int) map[string]string { return map[string]string{"k": strings.Repeat("v", size-1)} }
	for kind, make := range of {
		for name, tc := range map[string]struct {
			object, old runtime.Object
			refused     string
		}{
			"as large as allowed":      {make(annotations(100)), nil, ""},
			"larger":                   {make(annotations(101)), nil, "spec.template.metadata.annotations: total size is 101 bytes; the maximum is 100 (--max-template-annotations-bytes)"},
			"as large as before":       {make(annotations(200)), make(annotations(200)), ""},
			"larger than before":       {make(annotations(201)), make(annotations(200)), "201 bytes"},
			"no annotations":           {make(nil), nil, ""},
			"another kind":             {&vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Annotations: annotations(101)}}, nil, ""},
			"a request without a body": {nil, nil, ""},
		} {
			request := admission.NewAttributesRecord(tc.object, tc.old, schema.GroupVersionKind{}, "ns", "web", schema.GroupVersionResource{}, "", admission.Create, nil, false, &user.DefaultInfo{Name: "dev"})
			err := reserve.NewTemplates(100).Validate(t.Context(), request, nil)
			if tc.refused == "" && err != nil || tc.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.refused)) {
				t.Errorf("%s, %s: error %v, want %q", kind, name, err, tc.refused)
			}
		}
	}
}

func TestReserve_RejectsWrites(t *testing.T) {
	resource := schema.GroupVersionResource{Group: "vm.slipway.dev", Version: "v1alpha1", Resource: "virtualmachines"}
	scarce, full := errors.New("nearly full"), errors.New("full")
	leaving := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}, Finalizers: []string{"a/b"}}}
	for name, tc := range map[string]struct {
		user, resource, subresource string
		groups                      []string
		operation                   admission.Operation
		old                         runtime.Object
		dryRun                      bool
		create, update, server      error
		want                        string
	}{
		"enough space":                               {user: "dev", operation: admission.Create},
		"a new object, little space left":            {user: "dev", operation: admission.Create, create: scarce, want: "virtualmachines.vm.slipway.dev cannot be created: nearly full"},
		"an administrator":                           {user: "admin", operation: admission.Create, create: scarce, want: "created"},
		"a VM that a controller creates":             {user: user.APIServerUser, operation: admission.Create, create: scarce, want: "virtualmachines.vm.slipway.dev cannot be created: nearly full"},
		"an image that a controller creates":         {user: user.APIServerUser, resource: "virtualmachineimages", operation: admission.Create, create: scarce, want: "virtualmachineimages.vm.slipway.dev cannot be created"},
		"an instance that a controller starts":       {user: user.APIServerUser, resource: "virtualmachineinstances", operation: admission.Create, create: full, update: full},
		"an instance, deletions only":                {user: user.APIServerUser, resource: "virtualmachineinstances", operation: admission.Create, server: full, want: "created: full"},
		"an instance that a user creates":            {user: "dev", resource: "virtualmachineinstances", operation: admission.Create, create: scarce, want: "created: nearly full"},
		"a power operation, little space left":       {user: "dev", operation: admission.Create, subresource: "start", create: scarce},
		"a power operation, no space left":           {user: "dev", operation: admission.Create, subresource: "start", create: full, update: full, want: "changed: full"},
		"a dry run":                                  {user: "dev", operation: admission.Create, dryRun: true, create: full, update: full},
		"a change, little space left":                {user: "dev", operation: admission.Update, old: &metav1.PartialObjectMetadata{}, create: scarce},
		"a change, no space left":                    {user: "dev", operation: admission.Update, old: &metav1.PartialObjectMetadata{}, create: full, update: full, want: "virtualmachines.vm.slipway.dev cannot be changed: full"},
		"a change of an object being deleted":        {user: "dev", operation: admission.Update, old: leaving, create: full, update: full, server: full},
		"a status update by the server":              {user: user.APIServerUser, operation: admission.Update, subresource: "status", old: &metav1.PartialObjectMetadata{}, create: full, update: full},
		"a status update by a controller's user":     {user: reserve.ControllerUser("machineset"), groups: []string{user.SystemPrivilegedGroup}, operation: admission.Update, subresource: "status", old: &metav1.PartialObjectMetadata{}, create: full, update: full},
		"a VM created by a controller's user":        {user: reserve.ControllerUser("machineset"), groups: []string{user.SystemPrivilegedGroup}, operation: admission.Create, create: scarce, want: "created: nearly full"},
		"a user with the name of a controller":       {user: reserve.ControllerUser("machineset"), operation: admission.Update, old: &metav1.PartialObjectMetadata{}, update: full, want: "changed: full"},
		"a status, deletions only":                   {user: user.APIServerUser, operation: admission.Update, subresource: "status", old: &metav1.PartialObjectMetadata{}, server: full, want: "changed: full"},
		"a status update of an object being deleted": {user: user.APIServerUser, operation: admission.Update, subresource: "status", old: leaving, create: full, update: full, server: full},
	} {
		t.Run(name, func(t *testing.T) {
			of := resource
			if tc.resource != "" {
				of.Resource = tc.resource
			}
			a := reserve.New(reserve.Room{Create: func() error { return tc.create }, Update: func() error { return tc.update }, Server: func() error { return tc.server }})
			err := a.Validate(t.Context(), admission.NewAttributesRecord(nil, tc.old, schema.GroupVersionKind{}, "ns", "web", of,
				tc.subresource, tc.operation, nil, tc.dryRun, &user.DefaultInfo{Name: tc.user, Groups: tc.groups}), nil)
			if (err != nil) != (tc.want != "") {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			if status := apierrors.APIStatus(nil); err != nil && (!errors.As(err, &status) || status.Status().Code != 507 || status.Status().Reason != reserve.Reason ||
				!strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want status 507 with the cause", err)
			}
		})
	}
	if a := reserve.New(reserve.Room{}); a.Handles(admission.Delete) || a.Handles(admission.Connect) || !a.Handles(admission.Create) || !a.Handles(admission.Update) {
		t.Error("the check must handle create and update only")
	}
}
