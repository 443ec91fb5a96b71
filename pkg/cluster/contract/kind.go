// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Versions of the contract, newest first. The label labelPrefix+version on a CustomResourceDefinition or APIService
// names the versions of the kind that implement it.
const (
	V1Beta2 = "v1beta2"
	V1Beta1 = "v1beta1"
)

// labelPrefix is followed by a version of the contract in the key of a label.
const labelPrefix = "cluster.x-k8s.io/"

var versions = []string{V1Beta2, V1Beta1}

var (
	// ErrKindUnknown is returned when no server serves the kind.
	ErrKindUnknown = errors.New("unknown kind")
	// ErrContractUnknown is returned when the kind exists but implements no supported version of the contract.
	ErrContractUnknown = errors.New("the kind implements no supported version of the Cluster API contract")
	// ErrUnreadable is returned when the kind or the object could not be read, so that its state is unknown.
	ErrUnreadable = errors.New("could not be read")
)

// Reference identifies an object in the namespace of the object that refers to it.
type Reference struct {
	Group, Kind, Name string
}

// String returns the form that is used in messages.
func (r Reference) String() string { return fmt.Sprintf("%s.%s %q", r.Kind, r.Group, r.Name) }

// Kind describes how the objects of a resolved kind are read.
type Kind struct {
	GVK schema.GroupVersionKind
	GVR schema.GroupVersionResource
	// Version is the version of the contract: V1Beta2 or V1Beta1.
	Version string
	// Assumed is true if no label names the version of the contract.
	Assumed bool
	// Namespaced is false for cluster-scoped kinds.
	Namespaced bool
	// Client is a client of the server that serves the kind.
	Client dynamic.Interface
}

// ownKinds maps Slipway's kinds that implement the contract to their resources.
var ownKinds = map[schema.GroupKind]string{
	{Group: vmv1alpha1.GroupName, Kind: "VirtualMachine"}:         "virtualmachines",
	{Group: vmv1alpha1.GroupName, Kind: "VirtualMachineTemplate"}: "virtualmachinetemplates",
	{Group: vmv1alpha1.GroupName, Kind: "SlipwayCluster"}:         "slipwayclusters",
}

// ownDomain is the suffix of the names of all Slipway API groups.
const ownDomain = ".slipway.dev"

func ownKind(gk schema.GroupKind, client dynamic.Interface) (Kind, bool) {
	resource, ok := ownKinds[gk]
	if !ok {
		return Kind{}, false
	}
	gv := vmv1alpha1.SchemeGroupVersion
	return Kind{
		GVK: gv.WithKind(gk.Kind), GVR: gv.WithResource(resource), Version: V1Beta2, Namespaced: true, Client: client,
	}, true
}

// validateGroupKind rejects names that are not valid in a request path. It also rejects kinds that a user must not be
// able to adopt or delete by a reference.
func validateGroupKind(gk schema.GroupKind) error {
	if problems := validation.IsDNS1123Subdomain(gk.Group); len(problems) > 0 {
		return fmt.Errorf("%w: group %.80q: %s", ErrKindUnknown, gk.Group, strings.Join(problems, "; "))
	}
	if problems := validation.IsDNS1035Label(strings.ToLower(gk.Kind)); len(problems) > 0 {
		return fmt.Errorf("%w: kind %.80q: %s", ErrKindUnknown, gk.Kind, strings.Join(problems, "; "))
	}
	switch {
	case !strings.Contains(gk.Group, "."), strings.HasSuffix(gk.Group, ".k8s.io"):
		return fmt.Errorf("%w: %s is a built-in kind of Kubernetes", ErrContractUnknown, gk)
	case strings.HasSuffix(gk.Group, ownDomain):
		return fmt.Errorf("%w: %s is not one of %s", ErrContractUnknown, gk, strings.Join(ownNames(), ", "))
	}
	return nil
}

func ownNames() []string {
	var names []string
	for gk := range ownKinds {
		names = append(names, gk.String())
	}
	slices.Sort(names)
	return names
}
