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

// nodeDecoder is a decoded object: a Node, or the Status of an error.
type nodeDecoder struct {
	Node

	// code and message are fields of a Status.
	code, message string

	stream *stream
	sum    hash.Hash
	// textBudget is the number of bytes that further strings may have.
	textBudget int
}

// readNode decodes a Node. A name, UID or provider ID that is too long is an error and is not truncated, because these
// fields are compared.
func readNode(s *stream) (*nodeDecoder, error) {
	r := &nodeDecoder{stream: s, sum: sha256.New(), textBudget: maxNode - nodeSize - maxConditions*conditionSize}
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

func (r *nodeDecoder) readMetadata(key string) (err error) {
	switch key {
	case "name":
		r.Name, err = r.exactText("name", 253)
	case "uid":
		var uid string
		uid, err = r.exactText("UID", 64)
		r.UID = types.UID(uid)
	case "resourceVersion":
		r.ResourceVersion, err = r.exactText("resource version", 64)
	case "labels", "annotations":
		err = r.addToSum(key)
	default:
		err = r.stream.skip()
	}
	return err
}

func (r *nodeDecoder) readSpec(key string) (err error) {
	switch key {
	case "providerID":
		r.Spec.ProviderID, err = r.exactText("provider ID", 512)
	case "taints":
		err = r.addToSum(key)
	default:
		err = r.stream.skip()
	}
	return err
}

func (r *nodeDecoder) readStatus(key string) error {
	switch key {
	case "conditions":
		return r.stream.array(r.readCondition)
	case "nodeInfo":
		return r.stream.object(r.readInfo)
	}
	return r.stream.skip()
}

func (r *nodeDecoder) readInfo(key string) error {
	text, err := r.stream.text()
	to, isKept := map[string]*string{
		"machineID": &r.Status.NodeInfo.MachineID, "systemUUID": &r.Status.NodeInfo.SystemUUID, "bootID": &r.Status.NodeInfo.BootID,
		"kernelVersion": &r.Status.NodeInfo.KernelVersion, "osImage": &r.Status.NodeInfo.OSImage, "kubeletVersion": &r.Status.NodeInfo.KubeletVersion,
		"containerRuntimeVersion": &r.Status.NodeInfo.ContainerRuntimeVersion,
		"operatingSystem":         &r.Status.NodeInfo.OperatingSystem, "architecture": &r.Status.NodeInfo.Architecture,
	}[key]
	if isKept {
		*to = r.truncate(text, 128)
	}
	return err
}

// healthConditions are the conditions that describe the health of a Node. They are always cached.
var healthConditions = []string{string(corev1.NodeReady), string(corev1.NodeMemoryPressure), string(corev1.NodeDiskPressure), string(corev1.NodePIDPressure)}

// readCondition decodes a condition. Conditions in healthConditions are cached with their message. For other
// conditions, which a MachineHealthCheck may use, only type and status are cached, and only if the limits allow it.
func (r *nodeDecoder) readCondition() error {
	fields := map[string]string{}
	err := r.stream.object(func(key string) (err error) {
		switch key {
		case "type", "status", "message", "lastTransitionTime":
			fields[key], err = r.stream.text()
			return err
		}
		return r.stream.skip()
	})
	since, _ := time.Parse(time.RFC3339, fields["lastTransitionTime"])
	c := corev1.NodeCondition{Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(since)}
	for _, known := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse} {
		if fields["status"] == string(known) {
			c.Status = known
		}
	}
	kind, all := fields["type"], r.Status.Conditions
	at := slices.Index(healthConditions, kind)
	switch {
	case err != nil || slices.ContainsFunc(all, func(c corev1.NodeCondition) bool { return string(c.Type) == kind }):
		return err
	case at >= 0:
		c.Type, c.Message = corev1.NodeConditionType(healthConditions[at]), r.truncate(fields["message"], 128)
	case len(kind) <= min(64, r.textBudget) && len(all) < maxConditions-len(healthConditions):
		c.Type = corev1.NodeConditionType(r.truncate(kind, 64))
	default:
		return nil
	}
	r.Status.Conditions = append(all, c)
	return nil
}

// addToSum adds a value to the checksum.
func (r *nodeDecoder) addToSum(key string) error {
	_, _ = fmt.Fprintf(r.sum, "%s:", key)
	return r.stream.tokens(func(t json.Token) { _, _ = fmt.Fprintf(r.sum, "%T%q,", t, fmt.Sprint(t)) })
}

// exactText decodes a text that must not be truncated.
func (r *nodeDecoder) exactText(what string, limit int) (string, error) {
	text, err := r.stream.text()
	if err == nil && len(text) > limit {
		err = fmt.Errorf("%w: the %s of a Node has %d bytes; the maximum is %d", errNode, what, len(text), limit)
	}
	return r.truncate(text, limit), err
}

// truncate returns a copy of text, truncated to limit bytes or to the remaining budget.
func (r *nodeDecoder) truncate(text string, limit int) string {
	if limit = min(limit, r.textBudget); len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	r.textBudget -= len(text)
	return strings.Clone(text)
}

// cachedNode returns the Node to cache.
func (r *nodeDecoder) cachedNode() (*Node, error) {
	if r.Name == "" {
		return nil, fmt.Errorf("%w: a Node has no name", errNode)
	}
	node := r.Node
	node.ResourceVersion, node.Status.Conditions = "", slices.Clip(node.Status.Conditions)
	return &node, nil
}
