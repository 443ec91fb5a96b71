// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vmrecord

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// MaxEncoded bounds a text, in characters. VMware documents no bound of an advanced
	// setting but that of guestinfo variables, which is 64 KiB; the text is kept below it.
	MaxEncoded = 64 << 10
	// MaxDecoded bounds what a text may become, in bytes: no object is larger than what a
	// request to the API server may hold, which is 3 MiB (k8s.io/apiserver,
	// MaxRequestBodyBytes).
	MaxDecoded = 3 << 20
	// version is that of the format.
	version = 1
)

// ErrTooLarge means that an object has no text of at most MaxEncoded characters.
var ErrTooLarge = errors.New("the object is too large to be kept with its virtual machine")

// Record is the object of a virtual machine as it was at one time.
type Record struct {
	// Version of the format; Encode sets it.
	Version int `json:"version"`
	// Namespace, Name and UID of the object.
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	// Generation that it had.
	Generation int64 `json:"generation,omitempty"`
	// Labels and Annotations that it had.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Spec that it had.
	Spec vmv1alpha1.VirtualMachineSpec `json:"spec"`
	// Zone that it is in.
	Zone string `json:"zone,omitempty"`
	// InstancetypeRef and PreferenceRef say what it has captured, as its status does.
	InstancetypeRef *vmv1alpha1.InstancetypeRef `json:"instancetypeRef,omitempty"`
	PreferenceRef   *vmv1alpha1.PreferenceRef   `json:"preferenceRef,omitempty"`
	// Revisions are those of its instance type and its preference, with name, labels, data
	// and revision.
	Revisions []itv1alpha1.ControllerRevision `json:"revisions,omitempty"`
	// Groups are those that its virtual machine keeps: the one that it is in first.
	Groups []Group `json:"groups,omitempty"`
}

// Of returns the record of vm and the revisions that it was made of. They share nothing
// with it.
func Of(vm *vmv1alpha1.VirtualMachine, revisions ...*itv1alpha1.ControllerRevision) *Record {
	r := &Record{
		Namespace: vm.Namespace, Name: vm.Name, UID: vm.UID, Generation: vm.Generation,
		Labels: keptOf(vm.Labels), Annotations: keptOf(vm.Annotations), Spec: *vm.Spec.DeepCopy(),
		Zone: vm.Status.Zone, InstancetypeRef: vm.Status.InstancetypeRef.DeepCopy(), PreferenceRef: vm.Status.PreferenceRef.DeepCopy(),
	}
	for _, revision := range revisions {
		kept := revision.DeepCopy()
		kept.TypeMeta, kept.ObjectMeta = metav1.TypeMeta{}, metav1.ObjectMeta{Name: kept.Name, Namespace: kept.Namespace, Labels: kept.Labels}
		r.Revisions = append(r.Revisions, *kept)
	}
	return r
}

// Encode returns the text of r. The error is ErrTooLarge when it would be too long.
func (r *Record) Encode() (string, error) {
	out := *r
	out.Version = version
	plain, err := json.Marshal(&out)
	if err != nil {
		return "", fmt.Errorf("encoding the record of %s/%s: %w", r.Namespace, r.Name, err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return "", fmt.Errorf("compressing the record of %s/%s: %w", r.Namespace, r.Name, err)
	}
	if n := base64.StdEncoding.EncodedLen(packed.Len()); len(plain) > MaxDecoded || n > MaxEncoded {
		return "", fmt.Errorf("%w: %d characters, allowed are %d", ErrTooLarge, n, MaxEncoded)
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), nil
}

// Decode reads a text that Encode has written.
func Decode(text string) (*Record, error) {
	if len(text) > MaxEncoded {
		return nil, fmt.Errorf("a record has at most %d characters, this has %d", MaxEncoded, len(text))
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the record is not in base64: %w", err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the record is not compressed by gzip: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(unpacked, MaxDecoded+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("unpacking the record: %w", err)
	case len(plain) > MaxDecoded:
		return nil, fmt.Errorf("the record becomes more than %d bytes", MaxDecoded)
	}
	r := &Record{}
	if err := json.Unmarshal(plain, r); err != nil {
		return nil, fmt.Errorf("the record is not one of a virtual machine: %w", err)
	}
	if r.Version != version {
		return nil, fmt.Errorf("the record has format %d, this program reads %d", r.Version, version)
	}
	return r, nil
}
