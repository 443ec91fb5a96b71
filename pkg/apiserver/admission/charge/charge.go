// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package charge extends the admission plugin ResourceQuota for virtual machines.
//
// Guarantee: the store may repeat a request. An attempt that needs no more than the request was already charged for
// is not charged again. An attempt that needs more is charged in full until the usage of the namespace is
// recalculated.
package charge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota/validation"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/registry/quota"
)

// quotaWorkers is the number of namespaces that are evaluated at the same time, as in kube-apiserver.
const quotaWorkers = 5

// AddTo adds the admission plugin ResourceQuota to o as the last plugin, because a request that a later plugin
// rejects would still be charged.
func AddTo(o *genericoptions.AdmissionOptions) {
	o.Plugins.Register(resourcequota.PluginName, newCharge)
	o.RecommendedPluginOrder = append(o.RecommendedPluginOrder, resourcequota.PluginName)
}

// Initializers returns an initializer that gives the admission plugins a client with the given rate limits, because
// the library creates clients with the defaults of client-go. It also gives the quota plugin its evaluators.
func Initializers(e *quota.Evaluators, qps float32, burst int) func(*genericapiserver.RecommendedConfig) ([]admission.PluginInitializer, error) {
	return func(c *genericapiserver.RecommendedConfig) ([]admission.PluginInitializer, error) {
		i := pluginInitializer{evaluators: e}
		if c.ClientConfig == nil {
			return []admission.PluginInitializer{i}, nil
		}
		c.ClientConfig.QPS, c.ClientConfig.Burst = qps, burst
		client, err := kubernetes.NewForConfig(c.ClientConfig)
		if err != nil {
			return nil, fmt.Errorf("creating the client of the admission plugins: %w", err)
		}
		i.host = client
		return []admission.PluginInitializer{i}, nil
	}
}

type pluginInitializer struct {
	evaluators *quota.Evaluators
	host       kubernetes.Interface
}

// Initialize implements admission.PluginInitializer.
func (i pluginInitializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsExternalKubeClientSet); ok && i.host != nil {
		wants.SetExternalKubeClientSet(i.host)
	}
	if wants, ok := plugin.(initializer.WantsQuotaConfiguration); ok {
		wants.SetQuotaConfiguration(i.evaluators.Configuration())
	}
}

// chargeRetry is the Retry-After, in seconds, of a request that could not be charged.
const chargeRetry = 1

// charge is the plugin ResourceQuota. It calls the evaluator only if a quota may apply, and distinguishes failures of
// the management cluster from rejections.
type charge struct {
	*resourcequota.QuotaAdmission
	// evaluate is the Validate of the plugin.
	evaluate   func(context.Context, admission.Attributes, admission.ObjectInterfaces) error
	evaluators quotav1.Registry
	// always is true if the configuration also limits resources that no quota covers.
	always bool
	quotas corev1listers.ResourceQuotaLister
	synced cache.InformerSynced
}

// newCharge returns the plugin with the configuration in config.
func newCharge(config io.Reader) (admission.Interface, error) {
	configuration, err := resourcequota.LoadConfiguration(config)
	if err != nil {
		return nil, err
	}
	if errs := validation.ValidateConfiguration(configuration); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	plugin, err := resourcequota.NewResourceQuota(configuration, quotaWorkers)
	if err != nil {
		return nil, err
	}
	return &charge{QuotaAdmission: plugin, evaluate: plugin.Validate, always: len(configuration.LimitedResources) > 0}, nil
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (c *charge) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	c.QuotaAdmission.SetExternalKubeInformerFactory(f)
	quotas := f.Core().V1().ResourceQuotas()
	c.quotas, c.synced = quotas.Lister(), quotas.Informer().HasSynced
}

// SetQuotaConfiguration implements initializer.WantsQuotaConfiguration.
func (c *charge) SetQuotaConfiguration(q quotav1.Configuration) {
	c.QuotaAdmission.SetQuotaConfiguration(q)
	c.evaluators = generic.NewRegistry(q.Evaluators())
}

// unlimited reports whether no quota can apply in namespace.
func (c *charge) unlimited(namespace string) bool {
	if namespace == "" {
		return true
	}
	if c.always || c.quotas == nil || !c.synced() {
		return false
	}
	all, err := c.quotas.ResourceQuotas(namespace).List(labels.Everything())
	return err == nil && len(all) == 0
}

// Validate charges the request. A failure is answered with Retry-After, because the same request may succeed later.
func (c *charge) Validate(ctx context.Context, request admission.Attributes, o admission.ObjectInterfaces) error {
	namespace := request.GetNamespace()
	if c.unlimited(namespace) {
		return nil
	}
	if ctx.Err() != nil {
		return notCharged(namespace, "the request has ended")
	}
	record := func() {}
	if paid := paidBy(ctx); paid != nil && !request.IsDryRun() {
		growth, err := c.growth(request)
		if err == nil && paid.covers(growth) {
			return nil
		}
		record = func() { paid.charged = quotav1.Add(paid.charged, growth) }
	}
	err := c.evaluate(ctx, request, o)
	switch {
	case err == nil:
		record()
		return nil
	case apierrors.IsForbidden(err):
		return err
	case apierrors.IsConflict(err):
		return apierrors.NewTooManyRequests(fmt.Sprintf(
			"the ResourceQuotas of namespace %s were changed by other requests: try again", namespace), chargeRetry)
	case timedOut(err):
		return notCharged(namespace, "it timed out, because the management cluster did not answer in time: try again")
	default:
		return notCharged(namespace, err.Error())
	}
}

// timedOut reports whether err is a timeout. The library's evaluator returns its own timeout as an internal error.
func timedOut(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsInternalError(err) && strings.HasSuffix(err.Error(), "timed out")
}

func notCharged(namespace, reason string) error {
	unavailable := apierrors.NewServiceUnavailable(fmt.Sprintf("cannot charge the ResourceQuotas of namespace %s: %s", namespace, reason))
	unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: chargeRetry}
	return unavailable
}

// paid is the amount that a request has been charged. The store repeats an update, including its admission, after a
// conflicting write, such as a status write by a controller. It repeats a creation if the generated name is in use.
type paid struct{ charged corev1.ResourceList }

type paidKey struct{}

// RecordCharges returns a handler that records the amount that each request to api has been charged.
func RecordCharges(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), paidKey{}, &paid{})))
	})
}

// paidBy returns the record of the request in ctx, or nil if ctx has none.
func paidBy(ctx context.Context) *paid {
	p, _ := ctx.Value(paidKey{}).(*paid)
	return p
}

// covers reports whether a charge of growth has already been paid.
func (p *paid) covers(growth corev1.ResourceList) bool {
	return len(p.charged) > 0 && quotav1.IsZero(quotav1.SubtractWithNonNegativeResult(growth, p.charged))
}

// growth returns the amount that the evaluator of the kind charges for request.
func (c *charge) growth(request admission.Attributes) (corev1.ResourceList, error) {
	kind := request.GetResource().GroupResource()
	e := c.evaluators.Get(kind)
	if e == nil {
		e = generic.NewObjectCountEvaluator(kind, nil, "")
	}
	if !e.Handles(request) {
		return nil, nil
	}
	if err := e.Constraints(quota.ResourceNames, request.GetObject()); err != nil {
		return nil, err
	}
	usage, err := e.Usage(request.GetObject())
	if err != nil || request.GetOperation() != admission.Update {
		return usage, err
	}
	before, err := e.Usage(request.GetOldObject())
	return quotav1.SubtractWithNonNegativeResult(usage, before), err
}
