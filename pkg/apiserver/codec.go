// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/recognizer"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// storageMediaType is the encoding of objects in etcd. Protobuf is smaller than JSON and several times cheaper to
// decode.
const storageMediaType = runtime.ContentTypeProtobuf

// storageVersions are the versions in which objects are stored.
var storageVersions = schema.GroupVersions{vmv1alpha1.SchemeGroupVersion, itv1alpha1.SchemeGroupVersion, clusterv1alpha1.SchemeGroupVersion}

// NewRecommendedOptions returns the recommended options of an API server that stores Slipway's objects below prefix
// in etcd.
func NewRecommendedOptions(prefix string) *genericoptions.RecommendedOptions {
	o := genericoptions.NewRecommendedOptions(prefix, newStorageCodec())
	o.Etcd.StorageConfig.EncodeVersioner = storageVersions
	o.Etcd.DefaultStorageMediaType = storageMediaType
	return o
}

// newStorageCodec returns a codec that writes protobuf and reads every encoding that earlier versions wrote.
func newStorageCodec() runtime.Codec {
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), storageMediaType)
	if !ok {
		panic("the scheme has no serializer for " + storageMediaType) // a programming error
	}
	decoder := recognizer.NewDecoder(info.Serializer, scheme.Codecs.UniversalDeserializer())
	return &sharingCodec{Codec: scheme.Codecs.CodecForVersions(info.Serializer, decoder, storageVersions, runtime.InternalGroupVersioner)}
}
