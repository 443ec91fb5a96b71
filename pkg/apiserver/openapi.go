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

// DescribeOpenAPI configures c to publish the OpenAPI schemas of Slipway's groups with the given version.
func DescribeOpenAPI(c *genericapiserver.RecommendedConfig, version string) {
	// Publish only the served kinds of each schema.
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

// withoutStrategicMergeV2 and withoutStrategicMergeV3 remove strategic merge patch from the published patch formats.
// If a server publishes it, kubectl apply computes strategic merge patches. For --dry-run=client kubectl must also
// apply them, which it can do only for Go types that it is compiled with. Without it kubectl computes merge patches,
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
