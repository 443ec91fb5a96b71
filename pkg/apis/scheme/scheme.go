// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scheme holds the scheme of the API server.
//
// Guarantee: Scheme knows every kind of every group that the server serves, in
// its internal and versioned forms, and the options of metav1.
package scheme

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	instancetypeinstall "github.com/slipway-dev/slipway/pkg/apis/instancetype/install"
	vminstall "github.com/slipway-dev/slipway/pkg/apis/vm/install"
)

var (
	// Scheme converts, defaults and names the objects of all groups.
	Scheme = runtime.NewScheme()
	// Codecs encode and decode the objects of Scheme.
	Codecs = serializer.NewCodecFactory(Scheme)
	// ParameterCodec reads query parameters into options, also into those of our
	// own subresources, which metav1.ParameterCodec does not know.
	ParameterCodec = runtime.NewParameterCodec(Scheme)
)

func init() {
	instancetypeinstall.Install(Scheme)
	vminstall.Install(Scheme)

	// Options such as ListOptions are looked up in the core group's v1, and
	// answers such as Status are written in it.
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(Scheme, v1)
	Scheme.AddUnversionedTypes(v1,
		&metav1.Status{},
		&metav1.APIVersions{},
		&metav1.APIGroupList{},
		&metav1.APIGroup{},
		&metav1.APIResourceList{},
	)
}
