// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scheme contains the scheme of the API server.
//
// Guarantees:
//   - Scheme contains all kinds of all groups that the server serves and the options of metav1. It can
//     encode, decode and default them.
//   - The newest version of a group is also its internal version. There are no separate internal types.
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
	// Scheme contains the types, conversions and defaults of all groups.
	Scheme = runtime.NewScheme()
	// Codecs encodes and decodes the objects of Scheme.
	Codecs = serializer.NewCodecFactory(Scheme)
	// Requests is like Codecs, but its decoding errors identify the invalid field.
	Requests runtime.NegotiatedSerializer = fieldErrorSerializer{Codecs}
	// ParameterCodec decodes query parameters into options. Unlike metav1.ParameterCodec, it supports the options of
	// this API's subresources.
	ParameterCodec = runtime.NewParameterCodec(Scheme)
)

func init() { Install(Scheme) }

// Install adds all groups to s, including the internal versions that a server needs. It panics if two types conflict,
// which is a programming error.
func Install(s *runtime.Scheme) {
	AddVersions(s)
	addHub(s, itv1alpha1.SchemeGroupVersion)
	addHub(s, vmv1alpha1.SchemeGroupVersion)
	addHub(s, clusterv1alpha1.SchemeGroupVersion)
	addHub(s, autoscalingv1.SchemeGroupVersion)
}

// AddVersions adds the types that clients use to s: all groups, and other types that the server returns.
func AddVersions(s *runtime.Scheme) {
	utilruntime.Must(itv1alpha1.AddToScheme(s))
	utilruntime.Must(vmv1alpha1.AddToScheme(s))
	utilruntime.Must(clusterv1alpha1.AddToScheme(s))

	// Options such as ListOptions are registered in v1 of the core group, and responses such as Status are encoded in
	// it.
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
