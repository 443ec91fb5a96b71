// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxNode is the maximum size of a cached Node, in bytes of memory.
	maxNode = 4 << 10
	// maxConditions is the maximum number of cached conditions. conditionSize is the size of one without its texts.
	maxConditions, conditionSize = 12, 112
	// nodeSize is the size of a Node without texts and conditions.
	nodeSize = 1 << 10
)

// Node is the cached part of a Node: its name, UID, provider ID, conditions and system info, limited to 4 KiB. It has
// no labels, annotations or taints.
type Node struct {
	corev1.Node

	// Sum is a checksum of the labels, annotations and taints.
	Sum [sha256.Size]byte
}

// received is a decoded object: a Node, or the Status of an error.
type received struct {
	Node

	// code and message are fields of a Status.
	code, message string

	from *stream
	sum  hash.Hash
	// left is how many more bytes texts may have.
	left int
}

// readNode decodes a Node. A name, UID or provider ID that is too long is an error and is not truncated, because these
// fields are compared.
func readNode(s *stream) (*received, error) {
	r := &received{from: s, sum: sha256.New(), left: maxNode - nodeSize - maxConditions*conditionSize}
	err := s.object(func(key string) (err error) {
		switch key {
		case "metadata":
			return s.object(r.readMetadata)
		case "spec":
			return s.object(r.readSpec)
		case "status": // a string in a Status; skipped
			return s.object(r.readStatus)
		case "code":
			return s.tokens(func(t json.Token) { r.code = fmt.Sprint(t) })
		case "message":
			r.message, err = s.text()
			return err
		}
		return s.skip()
	})
	r.sum.Sum(r.Sum[:0])
	return r, err
}

func (r *received) readMetadata(key string) (err error) {
	switch key {
	case "name":
		r.Name, err = r.exact("name", 253)
	case "uid":
		var uid string
		uid, err = r.exact("UID", 64)
		r.UID = types.UID(uid)
	case "resourceVersion":
		r.ResourceVersion, err = r.exact("resource version", 64)
	case "labels", "annotations":
		err = r.add(key)
	default:
		err = r.from.skip()
	}
	return err
}

func (r *received) readSpec(key string) (err error) {
	switch key {
	case "providerID":
		r.Spec.ProviderID, err = r.exact("provider ID", 512)
	case "taints":
		err = r.add(key)
	default:
		err = r.from.skip()
	}
	return err
}

func (r *received) readStatus(key string) error {
	switch key {
	case "conditions":
		return r.from.array(r.readCondition)
	case "nodeInfo":
		return r.from.object(r.readInfo)
	}
	return r.from.skip()
}

func (r *received) readInfo(key string) error {
	text, err := r.from.text()
	to, isKept := map[string]*string{
		"machineID": &r.Status.NodeInfo.MachineID, "systemUUID": &r.Status.NodeInfo.SystemUUID, "bootID": &r.Status.NodeInfo.BootID,
		"kernelVersion": &r.Status.NodeInfo.KernelVersion, "osImage": &r.Status.NodeInfo.OSImage, "kubeletVersion": &r.Status.NodeInfo.KubeletVersion,
		"containerRuntimeVersion": &r.Status.NodeInfo.ContainerRuntimeVersion,
		"operatingSystem":         &r.Status.NodeInfo.OperatingSystem, "architecture": &r.Status.NodeInfo.Architecture,
	}[key]
	if isKept {
		*to = r.cut(text, 128)
	}
	return err
}

// summed are the conditions that describe the health of a Node. They are always cached.
var summed = []string{string(corev1.NodeReady), string(corev1.NodeMemoryPressure), string(corev1.NodeDiskPressure), string(corev1.NodePIDPressure)}

// readCondition decodes a condition. Conditions in summed are cached with their message. Of others, which a
// MachineHealthCheck may use, type and status are cached if there is room.
func (r *received) readCondition() error {
	fields := map[string]string{}
	err := r.from.object(func(key string) (err error) {
		switch key {
		case "type", "status", "message", "lastTransitionTime":
			fields[key], err = r.from.text()
			return err
		}
		return r.from.skip()
	})
	since, _ := time.Parse(time.RFC3339, fields["lastTransitionTime"])
	c := corev1.NodeCondition{Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(since)}
	for _, known := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse} {
		if fields["status"] == string(known) {
			c.Status = known
		}
	}
	kind, all := fields["type"], r.Status.Conditions
	at := slices.Index(summed, kind)
	switch {
	case err != nil || slices.ContainsFunc(all, func(c corev1.NodeCondition) bool { return string(c.Type) == kind }):
		return err
	case at >= 0:
		c.Type, c.Message = corev1.NodeConditionType(summed[at]), r.cut(fields["message"], 128)
	case len(kind) <= min(64, r.left) && len(all) < maxConditions-len(summed):
		c.Type = corev1.NodeConditionType(r.cut(kind, 64))
	default:
		return nil
	}
	r.Status.Conditions = append(all, c)
	return nil
}

// add adds a value to the checksum.
func (r *received) add(key string) error {
	_, _ = fmt.Fprintf(r.sum, "%s:", key)
	return r.from.tokens(func(t json.Token) { _, _ = fmt.Fprintf(r.sum, "%T%q,", t, fmt.Sprint(t)) })
}

// exact decodes a text that must not be truncated.
func (r *received) exact(what string, most int) (string, error) {
	text, err := r.from.text()
	if err == nil && len(text) > most {
		err = fmt.Errorf("%w: the %s of a Node has %d bytes; the maximum is %d", errNode, what, len(text), most)
	}
	return r.cut(text, most), err
}

// cut returns a copy of text, truncated to most bytes or to the space that is left.
func (r *received) cut(text string, most int) string {
	if most = min(most, r.left); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	r.left -= len(text)
	return strings.Clone(text)
}

// kept returns the Node to cache.
func (r *received) kept() (*Node, error) {
	if r.Name == "" {
		return nil, fmt.Errorf("%w: a Node has no name", errNode)
	}
	node := r.Node
	node.ResourceVersion, node.Status.Conditions = "", slices.Clip(node.Status.Conditions)
	return &node, nil
}
