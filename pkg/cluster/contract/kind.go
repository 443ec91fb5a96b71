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

// Versions of the contract, the newest first. A label of this key on a
// CustomResourceDefinition or an APIService names the versions of the kind that keep it.
const (
	V1Beta2 = "v1beta2"
	V1Beta1 = "v1beta1"
)

// labelPrefix with a version of the contract is the key of its label.
const labelPrefix = "cluster.x-k8s.io/"

var versions = []string{V1Beta2, V1Beta1}

var (
	// ErrKindUnknown says that no server serves the kind.
	ErrKindUnknown = errors.New("the kind is not known")
	// ErrContractUnknown says that the kind exists and keeps no version of the contract
	// that this project knows.
	ErrContractUnknown = errors.New("the kind keeps no known version of the contract")
	// ErrUnread says that kind or object could not be read, so that nothing is known of it.
	ErrUnread = errors.New("could not be read")
)

// Reference names an object of a kind; its namespace is that of the object that refers.
type Reference struct {
	Group, Kind, Name string
}

// String is how messages name the object.
func (r Reference) String() string { return fmt.Sprintf("%s.%s %q", r.Kind, r.Group, r.Name) }

// Kind is what is known of a kind.
type Kind struct {
	GVK schema.GroupVersionKind
	GVR schema.GroupVersionResource
	// Version is that of the contract: V1Beta2 or V1Beta1.
	Version string
	// Assumed is true where no label names the version of the contract.
	Assumed bool
	// Namespaced is false for kinds of the cluster.
	Namespaced bool
	// Client reaches the server of the kind.
	Client dynamic.Interface
}

// own are the kinds of this project that keep the contract, by their resources.
var own = map[schema.GroupKind]string{
	{Group: vmv1alpha1.GroupName, Kind: "VirtualMachine"}:         "virtualmachines",
	{Group: vmv1alpha1.GroupName, Kind: "VirtualMachineTemplate"}: "virtualmachinetemplates",
	{Group: vmv1alpha1.GroupName, Kind: "SlipwayCluster"}:         "slipwayclusters",
}

// ownDomain is the end of the names of all our groups.
const ownDomain = ".slipway.dev"

func ownKind(gk schema.GroupKind, client dynamic.Interface) (Kind, bool) {
	resource, ok := own[gk]
	if !ok {
		return Kind{}, false
	}
	gv := vmv1alpha1.SchemeGroupVersion
	return Kind{
		GVK: gv.WithKind(gk.Kind), GVR: gv.WithResource(resource), Version: V1Beta2, Namespaced: true, Client: client,
	}, true
}

// check refuses what cannot be the name of a kind, before it becomes a part of a path, and
// kinds that no user may have taken over or deleted by naming them in a reference.
func check(gk schema.GroupKind) error {
	if problems := validation.IsDNS1123Subdomain(gk.Group); len(problems) > 0 {
		return fmt.Errorf("%w: group %.80q: %s", ErrKindUnknown, gk.Group, strings.Join(problems, "; "))
	}
	if problems := validation.IsDNS1035Label(strings.ToLower(gk.Kind)); len(problems) > 0 {
		return fmt.Errorf("%w: kind %.80q: %s", ErrKindUnknown, gk.Kind, strings.Join(problems, "; "))
	}
	switch {
	case !strings.Contains(gk.Group, "."), strings.HasSuffix(gk.Group, ".k8s.io"):
		return fmt.Errorf("%w: %s is a kind of Kubernetes itself", ErrContractUnknown, gk)
	case strings.HasSuffix(gk.Group, ownDomain):
		return fmt.Errorf("%w: %s is not one of %s", ErrContractUnknown, gk, strings.Join(ownNames(), ", "))
	}
	return nil
}

func ownNames() []string {
	var names []string
	for gk := range own {
		names = append(names, gk.String())
	}
	slices.Sort(names)
	return names
}
