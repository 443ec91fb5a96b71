// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime"
	apiopenapi "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	openapienablement "k8s.io/apiserver/pkg/util/openapi"

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
}
