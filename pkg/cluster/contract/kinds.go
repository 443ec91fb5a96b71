// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// maxVersions is the maximum number of versions of a group that are checked.
const maxVersions = 16

var (
	crdResource        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServiceResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// Kinds looks up kinds in the management cluster.
type Kinds struct {
	// Discovery reads the discovery documents. Any REST client of the cluster can be used.
	Discovery rest.Interface
	// Metadata reads the labels of CustomResourceDefinitions and APIServices.
	Metadata metadata.Interface
}

// lookup looks up the versions of a kind and chooses one that implements the contract.
func (k Kinds) lookup(ctx context.Context, gk schema.GroupKind) (Kind, error) {
	served, err := k.servedResources(ctx, gk)
	if err != nil {
		return Kind{}, err
	}
	labels, err := k.labels(ctx, crdResource, served[0].Name+"."+gk.Group)
	if err != nil {
		return Kind{}, err
	}
	chosen, err := chooseVersion(labels, served)
	if err != nil {
		return Kind{}, fmt.Errorf("%w: CustomResourceDefinition %s.%s: %w", ErrContractUnknown, served[0].Name, gk.Group, err)
	}
	if chosen.contract == "" {
		if chosen, err = k.chooseByAPIService(ctx, gk, served); err != nil {
			return Kind{}, err
		}
	}
	found := Kind{Version: chosen.contract}
	if chosen.contract == "" {
		chosen.resource, found.Version, found.Assumed = served[0], V1Beta2, true
	}
	gv := schema.GroupVersion{Group: gk.Group, Version: chosen.resource.Version}
	found.GVK, found.GVR, found.Namespaced = gv.WithKind(gk.Kind), gv.WithResource(chosen.resource.Name), chosen.resource.Namespaced
	return found, nil
}

// servedResources returns the resources of a kind, one for each version that has it, the preferred version first. The
// result is not empty if err is nil.
func (k Kinds) servedResources(ctx context.Context, gk schema.GroupKind) ([]metav1.APIResource, error) {
	var group metav1.APIGroup
	err := k.Discovery.Get().AbsPath("/apis", gk.Group).Do(ctx).Into(&group)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: the management cluster does not serve group %s", ErrKindUnknown, gk.Group)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: group %s: %w", ErrUnreadable, gk.Group, err)
	}
	names := []string{group.PreferredVersion.Version}
	for _, v := range group.Versions[:min(len(group.Versions), maxVersions)] {
		if v.Version != group.PreferredVersion.Version {
			names = append(names, v.Version)
		}
	}
	var found []metav1.APIResource
	for _, name := range names {
		var list metav1.APIResourceList
		err := k.Discovery.Get().AbsPath("/apis", gk.Group, name).Do(ctx).Into(&list)
		if err != nil {
			return nil, fmt.Errorf("%w: version %s of group %s: %w", ErrUnreadable, name, gk.Group, err)
		}
		i := slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool {
			return r.Kind == gk.Kind && !strings.Contains(r.Name, "/")
		})
		if i >= 0 {
			resource := list.APIResources[i]
			resource.Version = name
			found = append(found, resource)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: group %s of the management cluster has no kind %s", ErrKindUnknown, gk.Group, gk.Kind)
	}
	return found, nil
}

// labels returns the labels of an object of the management cluster, or nil if the object does not exist.
func (k Kinds) labels(ctx context.Context, resource schema.GroupVersionResource, name string) (map[string]string, error) {
	o, err := k.Metadata.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s %s: %w", ErrUnreadable, resource.Resource, name, err)
	}
	return o.Labels, nil
}

// chooseByAPIService checks the labels of the APIServices. Each APIService is for one version. The version implements
// the contract if the value of the label is empty or contains the version.
func (k Kinds) chooseByAPIService(ctx context.Context, gk schema.GroupKind, served []metav1.APIResource) (versionChoice, error) {
	var best versionChoice
	for _, resource := range served {
		labels, err := k.labels(ctx, apiServiceResource, resource.Version+"."+gk.Group)
		if err != nil {
			return versionChoice{}, err
		}
		for _, contract := range versions {
			value, ok := labels[labelPrefix+contract]
			if ok && (value == "" || slices.Contains(strings.Split(value, "_"), resource.Version)) {
				if next := (versionChoice{contract, resource}); best.less(next) {
					best = next
				}
			}
		}
	}
	return best, nil
}

// versionChoice is a version of a kind and the version of the contract that it implements. contract is empty if it
// implements none.
type versionChoice struct {
	contract string
	resource metav1.APIResource
}

// less orders by the version of the contract, then by the version of the kind.
func (c versionChoice) less(other versionChoice) bool {
	if c.contract != other.contract {
		return version.CompareKubeAwareVersionStrings(c.contract, other.contract) < 0
	}
	return version.CompareKubeAwareVersionStrings(c.resource.Version, other.resource.Version) < 0
}

// chooseVersion returns the newest served version of the kind among those that the labels name for the newest version
// of the contract.
func chooseVersion(labels map[string]string, served []metav1.APIResource) (versionChoice, error) {
	for _, contract := range versions {
		value, ok := labels[labelPrefix+contract]
		if !ok {
			continue
		}
		var best versionChoice
		names := strings.Split(value, "_")
		for _, resource := range served {
			if next := (versionChoice{contract, resource}); slices.Contains(names, resource.Version) && best.less(next) {
				best = next
			}
		}
		if best.contract == "" {
			return versionChoice{}, fmt.Errorf("label %s%s=%s names no served version", labelPrefix, contract, value)
		}
		return best, nil
	}
	return versionChoice{}, nil
}
