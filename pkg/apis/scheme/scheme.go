// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scheme holds the scheme of the API server.
//
// Guarantees:
//   - Scheme knows every kind of every group that the server serves and the options of
//     metav1. It encodes, decodes and defaults them.
//   - The newest version of a group is also its internal form: there are no types
//     beside those that clients see.
package scheme

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

var (
	// Scheme converts, defaults and names the objects of all groups.
	Scheme = runtime.NewScheme()
	// Codecs encode and decode the objects of Scheme.
	Codecs = serializer.NewCodecFactory(Scheme)
	// Requests are Codecs that say of a request which value they cannot read.
	Requests runtime.NegotiatedSerializer = naming{Codecs}
	// ParameterCodec reads query parameters into options, also into those of our
	// own subresources, which metav1.ParameterCodec does not know.
	ParameterCodec = runtime.NewParameterCodec(Scheme)
)

func init() { Install(Scheme) }

// Install adds all groups to s, with the internal form that a server needs. It panics
// if two types collide, which only a programming error can cause.
func Install(s *runtime.Scheme) {
	AddVersions(s)
	addHub(s, itv1alpha1.SchemeGroupVersion)
	addHub(s, vmv1alpha1.SchemeGroupVersion)
	addHub(s, clusterv1alpha1.SchemeGroupVersion)
	addHub(s, autoscalingv1.SchemeGroupVersion)
}

// AddVersions adds what clients see to s: all groups, and what the server answers with
// beside them.
func AddVersions(s *runtime.Scheme) {
	utilruntime.Must(itv1alpha1.AddToScheme(s))
	utilruntime.Must(vmv1alpha1.AddToScheme(s))
	utilruntime.Must(clusterv1alpha1.AddToScheme(s))

	// Options such as ListOptions are looked up in the core group's v1, and
	// answers such as Status are written in it.
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(s, v1)
	s.AddUnversionedTypes(v1,
		&metav1.Status{},
		&metav1.APIVersions{},
		&metav1.APIGroupList{},
		&metav1.APIGroup{},
		&metav1.APIResourceList{},
	)
}
