// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiopenapi "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	openapienablement "k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/generated/openapi"
)

// DescribeOpenAPI makes the server that c becomes publish the schemas of our groups, as
// those of this version of Slipway.
func DescribeOpenAPI(c *genericapiserver.RecommendedConfig, version string) {
	// Of the kinds that a schema stands for clients are told the served ones only.
	served := runtime.NewScheme()
	scheme.AddVersions(served)
	namer := apiopenapi.NewDefinitionNamer(served)
	definitions := openapienablement.GetOpenAPIDefinitionsWithoutDisabledFeatures(openapi.GetOpenAPIDefinitions)
	c.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	c.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	c.OpenAPIConfig.Info.Title, c.OpenAPIConfig.Info.Version = "Slipway", version
	c.OpenAPIV3Config.Info.Title, c.OpenAPIV3Config.Info.Version = "Slipway", version
	c.OpenAPIConfig.PostProcessSpec, c.OpenAPIV3Config.PostProcessSpec = withoutStrategicMergeV2, withoutStrategicMergeV3
}

// withoutStrategicMergeV2 and withoutStrategicMergeV3 remove strategic merge patch from the patch formats that
// are published. If a server publishes it, kubectl apply computes strategic merge patches, which it can apply
// itself, for --dry-run=client, only to the Go types that it is compiled with. Otherwise it computes merge patches,
// as for custom resources. The server still accepts both.
func withoutStrategicMergeV2(s *spec.Swagger) (*spec.Swagger, error) {
	for _, item := range s.Paths.Paths {
		if item.Patch != nil {
			item.Patch.Consumes = slices.DeleteFunc(slices.Clone(item.Patch.Consumes), func(format string) bool {
				return format == string(types.StrategicMergePatchType)
			})
		}
	}
	return s, nil
}

func withoutStrategicMergeV3(s *spec3.OpenAPI) (*spec3.OpenAPI, error) {
	for _, item := range s.Paths.Paths {
		if item != nil && item.Patch != nil && item.Patch.RequestBody != nil {
			delete(item.Patch.RequestBody.Content, string(types.StrategicMergePatchType))
		}
	}
	return s, nil
}
