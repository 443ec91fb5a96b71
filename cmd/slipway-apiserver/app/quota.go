// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/quota"
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
	change, paid := changeOf(request), paidBy(ctx)
	if change != nil && paid != nil && equality.Semantic.DeepEqual(paid.change, change) {
		return nil
	}
	err := c.ValidationInterface.Validate(ctx, request, o)
	switch {
	case err == nil:
		if paid != nil && !request.IsDryRun() {
			paid.change = change
		}
		return nil
	case apierrors.IsForbidden(err):
		return err
	case apierrors.IsConflict(err):
		return apierrors.NewTooManyRequests(fmt.Sprintf(
			"the ResourceQuotas of namespace %s are being charged by others too: try again", request.GetNamespace()), chargeRetry)
	default:
		return apierrors.NewServiceUnavailable(fmt.Sprintf(
			"cannot charge the ResourceQuotas of namespace %s in the host cluster, without which nothing more is admitted there: %v", request.GetNamespace(), err))
	}
}

// paid is what a request was charged for last. The store tries an update again, its admission
// included, when another write came between, and a controller writes the status of a virtual
// machine at any time: without this a change of size would be charged once for each try, until
// the namespace is counted the next time.
type paid struct{ change any }

type paidKey struct{}

// withPaid lets the requests to api know what they were charged for.
func withPaid(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), paidKey{}, &paid{})))
	})
}

// paidBy is what the request of ctx was charged for, nil without a request.
func paidBy(ctx context.Context) *paid {
	p, _ := ctx.Value(paidKey{}).(*paid)
	return p
}

// changeOf is what the charge of an update of a virtual machine is made of, nil for other requests,
// which nobody tries again.
func changeOf(request admission.Attributes) any {
	if request == nil || request.GetOperation() != admission.Update {
		return nil
	}
	updated, ok := request.GetObject().(*vmv1alpha1.VirtualMachine)
	stored, was := request.GetOldObject().(*vmv1alpha1.VirtualMachine)
	if !ok || !was {
		return nil
	}
	return quota.Change(stored, updated)
}
