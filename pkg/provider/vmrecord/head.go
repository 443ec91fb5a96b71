// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vmrecord

import (
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Schema is the version of the data that is stored in a virtual machine: its record and other metadata. It is increased
// only if existing virtual machines lack new data, not with each release.
const Schema = 2

// MaxHead is the maximum length of a head in characters: a UID and four numbers.
const MaxHead = 256

// Head identifies the object and the state of a record. Each reconcile compares it instead of the whole record. The
// zero value means that there is no record.
type Head struct {
	// Schema is the version of the stored data.
	Schema int
	// UID of the object.
	UID types.UID
	// Generation of the object.
	Generation int64
	// Sum is a hash of the labels, the annotations and the names of the pinned revisions, which can change without a
	// new generation.
	Sum string
	// Groups is a hash of the stored groups; empty for none. It does not describe the virtual machine, so Compare
	// ignores it.
	Groups string
}

// HeadOf returns the head of the record of vm.
func HeadOf(vm *vmv1alpha1.VirtualMachine) Head {
	h := fnv.New64a()
	for i, m := range []map[string]string{vm.Labels, vm.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if isRecorded(key) {
				write(h, strconv.Itoa(i), key, m[key])
			}
		}
	}
	for _, name := range RevisionNames(vm) {
		write(h, "2", name)
	}
	return Head{Schema: Schema, UID: vm.UID, Generation: vm.Generation, Sum: fmt.Sprintf("%016x", h.Sum64())}
}

func write(to io.Writer, parts ...string) {
	for _, part := range parts {
		_, _ = io.WriteString(to, part)
		_, _ = to.Write([]byte{0})
	}
}

// isRecorded reports whether a label or an annotation is part of a record. The last applied configuration of kubectl
// and keys that describe a process in progress are omitted.
func isRecorded(key string) bool {
	switch key {
	case corev1.LastAppliedConfigAnnotation, vmv1alpha1.LabelImageCache, vmv1alpha1.AnnotationImageCacheLocation,
		vmv1alpha1.AnnotationRecovered, vmv1alpha1.AnnotationOverwriteRecord, vmv1alpha1.AnnotationReverting:
		return false
	}
	return true
}

// RevisionNames returns the names of the revisions of the instance type and the preference that vm has pinned.
func RevisionNames(vm *vmv1alpha1.VirtualMachine) []string {
	var names []string
	for _, ref := range []*vmv1alpha1.InstancetypeRef{vm.Status.InstancetypeRef, (*vmv1alpha1.InstancetypeRef)(vm.Status.PreferenceRef)} {
		if ref != nil && ref.ControllerRevisionRef != nil && ref.ControllerRevisionRef.Name != "" {
			names = append(names, ref.ControllerRevisionRef.Name)
		}
	}
	return names
}

// String returns the text that ParseHead parses; empty for no record.
func (h Head) String() string {
	if h == (Head{}) {
		return ""
	}
	text := fmt.Sprintf("%d/%s/%d/%s", h.Schema, h.UID, h.Generation, h.Sum)
	if h.Groups != "" {
		text += "." + h.Groups
	}
	return text
}

// ParseHead parses the text of a head. It returns the zero Head if the text is invalid or has an unknown format.
func ParseHead(text string) Head {
	if len(text) > MaxHead {
		return Head{}
	}
	parts := strings.Split(text, "/")
	if len(parts) != 4 || parts[1] == "" {
		return Head{}
	}
	schema, err := strconv.Atoi(parts[0])
	generation, gerr := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || gerr != nil || schema < 1 || generation < 0 {
		return Head{}
	}
	sum, groups, _ := strings.Cut(parts[3], ".")
	return Head{Schema: schema, UID: types.UID(parts[1]), Generation: generation, Sum: sum, Groups: groups}
}

// Age is the age of a record in comparison to an object.
type Age string

const (
	// Same means that the record describes the current object.
	Same Age = "Same"
	// Older means that the object has changed since the record was written.
	Older Age = "Older"
	// Newer means that the object is older than the record, for example after a restore of the database.
	Newer Age = "Newer"
	// Absent means that the object has no record.
	Absent Age = "Absent"
)

// WithGroups returns h with the hash of groups, or with the hash in before if the groups are not known.
func (h Head) WithGroups(groups Groups, before Head) Head {
	h.Groups = groups.hash
	if !groups.Known {
		h.Groups = before.Groups
	}
	return h
}

// SameGeneration reports whether h and now have the same generation and schema.
func (h Head) SameGeneration(now Head) bool {
	h.Sum, h.Groups = now.Sum, now.Groups
	return h == now
}

// Compare returns the age of the record with head h in comparison to the object with head now.
func (h Head) Compare(now Head) Age {
	switch {
	case h.UID != now.UID:
		return Absent
	case h.Generation > now.Generation:
		return Newer
	case h.Generation == now.Generation && h.Sum == now.Sum:
		return Same
	}
	return Older
}
