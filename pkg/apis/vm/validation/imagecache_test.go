// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// fieldsOf returns the types and fields of errors in their order.
func fieldsOf(errs field.ErrorList) []string {
	var got []string
	for _, err := range errs {
		got = append(got, string(err.Type)+" "+err.Field)
	}
	return got
}

func TestValidateVirtualMachineImageCache(t *testing.T) {
	valid := func() *vmv1alpha1.VirtualMachineImageCache {
		return &vmv1alpha1.VirtualMachineImageCache{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: vmv1alpha1.VirtualMachineImageCacheSpec{
			ContentLibrary: vmv1alpha1.ContentLibraryImageSource{Library: "l", Item: "i"},
			Locations:      []vmv1alpha1.VirtualMachineImageCacheLocation{{Datastore: "d"}, {Datastore: "d", StoragePolicy: "p"}, {VCenter: "b", Datastore: "d"}},
		}}
	}
	for name, test := range map[string]struct {
		change func(*vmv1alpha1.VirtualMachineImageCache)
		want   []string
	}{
		"valid":                          {func(*vmv1alpha1.VirtualMachineImageCache) {}, nil},
		"no item":                        {func(c *vmv1alpha1.VirtualMachineImageCache) { c.Spec.ContentLibrary.Item = "" }, []string{"FieldValueRequired spec.contentLibrary.item"}},
		"no library":                     {func(c *vmv1alpha1.VirtualMachineImageCache) { c.Spec.ContentLibrary.Library = "" }, []string{"FieldValueRequired spec.contentLibrary.library"}},
		"no datastore":                   {func(c *vmv1alpha1.VirtualMachineImageCache) { c.Spec.Locations[0].Datastore = "" }, []string{"FieldValueRequired spec.locations[0].datastore"}},
		"an invalid vCenter":             {func(c *vmv1alpha1.VirtualMachineImageCache) { c.Spec.Locations[2].VCenter = "B!" }, []string{"FieldValueInvalid spec.locations[2].vCenter"}},
		"a duplicate location":           {func(c *vmv1alpha1.VirtualMachineImageCache) { c.Spec.Locations[2].VCenter = "default" }, []string{"FieldValueDuplicate spec.locations[2]"}},
		"an invalid label value as name": {func(c *vmv1alpha1.VirtualMachineImageCache) { c.Name = "A" }, []string{"FieldValueInvalid metadata.name"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := valid()
			test.change(c)
			if diff := cmp.Diff(test.want, fieldsOf(ValidateVirtualMachineImageCache(c))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
	old, other := valid(), valid()
	old.ResourceVersion, other.ResourceVersion = "1", "1"
	other.Spec.ContentLibrary.Item = "j"
	if diff := cmp.Diff([]string{"FieldValueInvalid spec.contentLibrary"}, fieldsOf(ValidateVirtualMachineImageCacheUpdate(other, old))); diff != "" {
		t.Errorf("errors for another item (-want +got):\n%s", diff)
	}
}

func TestValidateVirtualMachinePublishRequest(t *testing.T) {
	valid := func() *vmv1alpha1.VirtualMachinePublishRequest {
		return &vmv1alpha1.VirtualMachinePublishRequest{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "n", ResourceVersion: "1"}, Spec: vmv1alpha1.VirtualMachinePublishRequestSpec{
			Target: vmv1alpha1.VirtualMachinePublishTarget{ContentLibrary: "l"},
		}}
	}
	type request = vmv1alpha1.VirtualMachinePublishRequest
	for name, test := range map[string]struct {
		change         func(*request)
		create, update []string
	}{
		"valid":              {func(*request) {}, nil, nil},
		"another time":       {func(r *request) { r.Spec.TTLSecondsAfterFinished = ptr.To[int64](1) }, nil, nil},
		"no library":         {func(r *request) { r.Spec.Target.ContentLibrary = "" }, []string{"FieldValueRequired spec.target.contentLibrary"}, []string{"FieldValueRequired spec.target.contentLibrary", "FieldValueForbidden spec.target"}},
		"an invalid library": {func(r *request) { r.Spec.Target.ContentLibrary = "a b" }, []string{"FieldValueInvalid spec.target.contentLibrary"}, []string{"FieldValueInvalid spec.target.contentLibrary", "FieldValueForbidden spec.target"}},
		"another source":     {func(r *request) { r.Spec.Source.Name = "b" }, nil, []string{"FieldValueForbidden spec.source"}},
		"an invalid source":  {func(r *request) { r.Spec.Source.Name = "a/b" }, []string{"FieldValueInvalid spec.source.name"}, []string{"FieldValueInvalid spec.source.name", "FieldValueForbidden spec.source"}},
		"another item":       {func(r *request) { r.Spec.Target.Item = "b" }, nil, []string{"FieldValueForbidden spec.target"}},
		"a negative time":    {func(r *request) { r.Spec.TTLSecondsAfterFinished = ptr.To[int64](-1) }, []string{"FieldValueInvalid spec.ttlSecondsAfterFinished"}, []string{"FieldValueInvalid spec.ttlSecondsAfterFinished"}},
		"longer than a year": {func(r *request) { r.Spec.TTLSecondsAfterFinished = ptr.To[int64](31536001) }, []string{"FieldValueInvalid spec.ttlSecondsAfterFinished"}, []string{"FieldValueInvalid spec.ttlSecondsAfterFinished"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := valid()
			test.change(r)
			if diff := cmp.Diff(test.create, fieldsOf(ValidateVirtualMachinePublishRequest(r))); diff != "" {
				t.Errorf("errors of a new request (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.update, fieldsOf(ValidateVirtualMachinePublishRequestUpdate(r, valid()))); diff != "" {
				t.Errorf("errors of a change (-want +got):\n%s", diff)
			}
		})
	}
}
