// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

func machine() *vmv1alpha1.VirtualMachine {
	memory := resource.MustParse("2Gi")
	return &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: "web", UID: "1234", Generation: 7, ResourceVersion: "99",
			Labels:        map[string]string{"app": "web"},
			Annotations:   map[string]string{"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
			Finalizers:    []string{"x/y"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Memory:     &vmv1alpha1.VirtualMachineMemory{Guest: &memory},
			PowerState: vmv1alpha1.PoweredOn,
			Instancetype: &vmv1alpha1.InstancetypeMatcher{
				Name: "u1.small", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "revision-1"},
			},
		},
		Status: vmv1alpha1.VirtualMachineStatus{UniqueID: "vm-7"},
	}
}

func revision() *itv1alpha1.ControllerRevision {
	return &itv1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "revision-1", UID: "9", ResourceVersion: "5", Labels: map[string]string{"a": "b"}},
		Data:       runtime.RawExtension{Raw: []byte(`{"kind":"VirtualMachineInstancetype","spec":{"cpu":{"guest":2}}}`)},
		Revision:   3,
	}
}

func TestRecord_DecodesToTheObjectWithoutServerFields(t *testing.T) {
	text, err := vmrecord.Of(machine(), revision()).Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := vmrecord.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	want := &vmrecord.Record{
		Version: 1, Namespace: "team-a", Name: "web", UID: "1234", Generation: 7,
		Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"note": "x"},
		Spec: machine().Spec,
		Revisions: []itv1alpha1.ControllerRevision{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "revision-1", Labels: map[string]string{"a": "b"}},
			Data:       revision().Data, Revision: 3,
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestRecord_IsDeterministic(t *testing.T) {
	vm := machine()
	vm.Labels = map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}
	first, err := vmrecord.Of(vm, revision()).Encode()
	if err != nil {
		t.Fatal(err)
	}
	vm.Status.UniqueID, vm.ResourceVersion, vm.ManagedFields = "vm-8", "100", nil
	for range 20 {
		if again, err := vmrecord.Of(vm, revision()).Encode(); err != nil || again != first {
			t.Fatalf("the text differs (error %v):\n%s\n%s", err, first, again)
		}
	}
}

func TestRecord_IsADeepCopy(t *testing.T) {
	vm, rev := machine(), revision()
	r := vmrecord.Of(vm, rev)
	vm.Labels["app"], vm.Annotations["note"], vm.Spec.Instancetype.Name, rev.Labels["a"] = "db", "y", "u1.large", "c"
	if r.Labels["app"] != "web" || r.Annotations["note"] != "x" || r.Spec.Instancetype.Name != "u1.small" || r.Revisions[0].Labels["a"] != "b" {
		t.Errorf("the record changed together with its object: %+v", r)
	}
	if vm.Annotations["kubectl.kubernetes.io/last-applied-configuration"] == "" {
		t.Error("an annotation of the object was removed")
	}
}

func TestRecord_RejectsATooLargeObject(t *testing.T) {
	vm := machine()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		noise := make([]byte, 600)
		for j := range noise {
			noise[j] = byte('!' + random.IntN(90))
		}
		vm.Annotations[fmt.Sprintf("n/%d", i)] = string(noise)
	}
	if text, err := vmrecord.Of(vm).Encode(); !errors.Is(err, vmrecord.ErrTooLarge) {
		t.Errorf("%d characters and error %v, want ErrTooLarge", len(text), err)
	}
}

func TestDecode_RejectsInvalidRecords(t *testing.T) {
	pack := func(plain string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(plain)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(b.Bytes())
	}
	for name, tc := range map[string]struct{ text, wantMessage string }{
		"empty":                {"", "not valid gzip"},
		"too long":             {strings.Repeat("A", vmrecord.MaxEncoded+1), "longer than"},
		"invalid base64":       {"%%%", "not valid base64"},
		"not compressed":       {base64.StdEncoding.EncodeToString([]byte("hello")), "not valid gzip"},
		"truncated":            {pack(`{"version":1}`)[:24], "record"},
		"a decompression bomb": {pack(strings.Repeat(" ", vmrecord.MaxDecoded+1)), "larger than"},
		"another JSON value":   {pack(`["x"]`), "not a valid virtual machine record"},
		"later version":        {pack(`{"version":2}`), "format 2"},
		"without version":      {pack(`{}`), "format 0"},
		"an invalid spec":      {pack(`{"version":1,"spec":7}`), "not a valid virtual machine record"},
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := vmrecord.Decode(tc.text); err == nil || !strings.Contains(err.Error(), tc.wantMessage) {
				t.Errorf("record %+v, error %v, want an error with %q", r, err, tc.wantMessage)
			}
		})
	}
}
