// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"github.com/slipway-dev/slipway/pkg/quota"
)

// addQuota adds the admission plugin ResourceQuota to o, as the last: what is refused
// after it has been charged for nothing.
func addQuota(o *genericoptions.AdmissionOptions) {
	resourcequota.Register(o.Plugins)
	o.RecommendedPluginOrder = append(o.RecommendedPluginOrder, resourcequota.PluginName)
	// The first decorator is nearest to the plugin, so that metrics see what clients see.
	o.Decorators = slices.Insert(o.Decorators, 0, admission.Decorator(admission.DecoratorFunc(func(plugin admission.Interface, name string) admission.Interface {
		if charging, ok := plugin.(admission.ValidationInterface); ok && name == resourcequota.PluginName {
			return &charge{charging}
		}
		return plugin
	})))
}

// measureWith gives the plugin what it measures with.
func measureWith(e *quota.Evaluators) func(*genericapiserver.RecommendedConfig) ([]admission.PluginInitializer, error) {
	return func(*genericapiserver.RecommendedConfig) ([]admission.PluginInitializer, error) {
		return []admission.PluginInitializer{quotaInitializer{e}}, nil
	}
}

type quotaInitializer struct{ evaluators *quota.Evaluators }

// Initialize implements admission.PluginInitializer.
func (i quotaInitializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsQuotaConfiguration); ok {
		wants.SetQuotaConfiguration(i.evaluators.Configuration())
	}
}

// chargeRetry is after how many seconds a client may try again that could not be charged.
const chargeRetry = 1

// charge is the plugin ResourceQuota with the errors of the host cluster told apart from
// refusals.
type charge struct{ admission.ValidationInterface }

// Validate charges the request. Clients try again by themselves when many charge at the
// same time; when the host cluster cannot be written to, they are told.
func (c *charge) Validate(ctx context.Context, request admission.Attributes, o admission.ObjectInterfaces) error {
	err := c.ValidationInterface.Validate(ctx, request, o)
	switch {
	case err == nil || apierrors.IsForbidden(err):
		return err
	case apierrors.IsConflict(err):
		return apierrors.NewTooManyRequests(fmt.Sprintf(
			"the ResourceQuotas of namespace %s are being charged by others too: try again", request.GetNamespace()), chargeRetry)
	default:
		return apierrors.NewServiceUnavailable(fmt.Sprintf(
			"cannot charge the ResourceQuotas of namespace %s in the host cluster, without which nothing more is admitted there: %v", request.GetNamespace(), err))
	}
}
