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

// Schema is the version of what is kept with a virtual machine: of its record, and of what
// else is written beside it. It is no version of the program: it grows only when there is
// something that virtual machines of before lack.
const Schema = 2

// MaxHead bounds a head, in characters: a UID and four numbers.
const MaxHead = 256

// Head says of which object a record is, and of what state of it: what is compared in every
// pass, without the record itself. The zero value is the head of no record.
type Head struct {
	// Schema by which it was written.
	Schema int
	// UID of the object.
	UID types.UID
	// Generation of the object.
	Generation int64
	// Sum is that of labels, annotations and the names of the captured revisions, which
	// change without a generation.
	Sum string
	// Groups is the sum of what it keeps of groups; empty for none. It says nothing about the
	// virtual machine, and Compare does not ask for it.
	Groups string
}

// HeadOf is the head of the record of vm.
func HeadOf(vm *vmv1alpha1.VirtualMachine) Head {
	h := fnv.New64a()
	for i, m := range []map[string]string{vm.Labels, vm.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if kept(key) {
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

// kept is false for labels and annotations that are not part of a record: the copy of the
// manifest that kubectl keeps, and what says of an object only what is going on with it.
func kept(key string) bool {
	switch key {
	case corev1.LastAppliedConfigAnnotation, vmv1alpha1.LabelImageCache, vmv1alpha1.AnnotationImageCacheLocation,
		vmv1alpha1.AnnotationRecovered, vmv1alpha1.AnnotationOverwriteRecord, vmv1alpha1.AnnotationReverting:
		return false
	}
	return true
}

// RevisionNames are the revisions that vm has captured, of its instance type and of its
// preference, as far as there are any.
func RevisionNames(vm *vmv1alpha1.VirtualMachine) []string {
	var names []string
	for _, ref := range []*vmv1alpha1.InstancetypeRef{vm.Status.InstancetypeRef, (*vmv1alpha1.InstancetypeRef)(vm.Status.PreferenceRef)} {
		if ref != nil && ref.ControllerRevisionRef != nil && ref.ControllerRevisionRef.Name != "" {
			names = append(names, ref.ControllerRevisionRef.Name)
		}
	}
	return names
}

// String is the text of h, which ParseHead reads; empty for no record.
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

// ParseHead reads the text of a head. What is none, or one of a later form, is that of no
// record.
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

// Age compares a record with an object.
type Age string

const (
	// Same: the record is that of the object.
	Same Age = "Same"
	// Older: the object has changed since.
	Older Age = "Older"
	// Newer: the object is of a time before, as in a store that was restored.
	Newer Age = "Newer"
	// Absent: there is no record of the object.
	Absent Age = "Absent"
)

// With is h as it is with groups: with those of before as long as they are not known.
func (h Head) With(groups Groups, before Head) Head {
	h.Groups = groups.sum
	if !groups.Known {
		h.Groups = before.Groups
	}
	return h
}

// SameGeneration reports whether h and now are heads of one state of the spec, by one schema.
func (h Head) SameGeneration(now Head) bool {
	h.Sum, h.Groups = now.Sum, now.Groups
	return h == now
}

// Compare says how old the record of head h is beside the object of head now.
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
