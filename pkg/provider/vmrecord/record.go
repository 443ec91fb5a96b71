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
	// MaxEncoded is the maximum length of an encoded record in characters. VMware documents no limit for advanced
	// settings except for guestinfo variables: 64 KiB.
	MaxEncoded = 64 << 10
	// MaxDecoded is the maximum size of a decoded record in bytes. Objects cannot be larger than a request to the API
	// server, 3 MiB (k8s.io/apiserver, MaxRequestBodyBytes).
	MaxDecoded = 3 << 20
	// formatVersion is the version of the format.
	formatVersion = 1
)

// ErrTooLarge is returned if an encoded object exceeds MaxEncoded.
var ErrTooLarge = errors.New("the object is too large to be stored in its virtual machine")

// Record is a stored copy of a virtual machine's object.
type Record struct {
	// Version of the format; Encode sets it.
	Version int `json:"version"`
	// Namespace, Name and UID of the object.
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	// Generation of the object.
	Generation int64 `json:"generation,omitempty"`
	// Labels and Annotations of the object.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Spec of the object.
	Spec vmv1alpha1.VirtualMachineSpec `json:"spec"`
	// Zone of the virtual machine.
	Zone string `json:"zone,omitempty"`
	// InstancetypeRef and PreferenceRef have the pinned revisions, as in status.
	InstancetypeRef *vmv1alpha1.InstancetypeRef `json:"instancetypeRef,omitempty"`
	PreferenceRef   *vmv1alpha1.PreferenceRef   `json:"preferenceRef,omitempty"`
	// Revisions are the revisions of the instance type and the preference, with their names, labels, data and revision
	// numbers.
	Revisions []itv1alpha1.ControllerRevision `json:"revisions,omitempty"`
	// Groups are the groups that the virtual machine stores: its own group first, then the parents.
	Groups []Group `json:"groups,omitempty"`
}

// Of returns a record of vm and its revisions. The record is a deep copy.
func Of(vm *vmv1alpha1.VirtualMachine, revisions ...*itv1alpha1.ControllerRevision) *Record {
	r := &Record{
		Namespace: vm.Namespace, Name: vm.Name, UID: vm.UID, Generation: vm.Generation,
		Labels: recordedKeys(vm.Labels), Annotations: recordedKeys(vm.Annotations), Spec: *vm.Spec.DeepCopy(),
		Zone: vm.Status.Zone, InstancetypeRef: vm.Status.InstancetypeRef.DeepCopy(), PreferenceRef: vm.Status.PreferenceRef.DeepCopy(),
	}
	for _, revision := range revisions {
		kept := revision.DeepCopy()
		kept.TypeMeta, kept.ObjectMeta = metav1.TypeMeta{}, metav1.ObjectMeta{Name: kept.Name, Namespace: kept.Namespace, Labels: kept.Labels}
		r.Revisions = append(r.Revisions, *kept)
	}
	return r
}

// Encode returns the text of r. The error is ErrTooLarge if the text would be too long.
func (r *Record) Encode() (string, error) {
	out := *r
	out.Version = formatVersion
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
		return "", fmt.Errorf("%w: %d characters, limit %d", ErrTooLarge, n, MaxEncoded)
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), nil
}

// Decode parses a text that Encode has returned.
func Decode(text string) (*Record, error) {
	if len(text) > MaxEncoded {
		return nil, fmt.Errorf("the record is longer than %d characters: %d", MaxEncoded, len(text))
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the record is not valid base64: %w", err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the record is not valid gzip data: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(unpacked, MaxDecoded+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("decompressing the record: %w", err)
	case len(plain) > MaxDecoded:
		return nil, fmt.Errorf("the decompressed record is larger than %d bytes", MaxDecoded)
	}
	r := &Record{}
	if err := json.Unmarshal(plain, r); err != nil {
		return nil, fmt.Errorf("the record is not a valid virtual machine record: %w", err)
	}
	if r.Version != formatVersion {
		return nil, fmt.Errorf("the record has format %d; this version supports format %d", r.Version, formatVersion)
	}
	return r, nil
}
