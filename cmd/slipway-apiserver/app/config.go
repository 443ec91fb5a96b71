// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/apiserver"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/adoption"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/charge"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/copying"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/ownership"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/protectedkeys"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/references"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/reserve"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/reverting"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/revisions"
	"github.com/slipway-dev/slipway/pkg/registry/quota"
	"github.com/slipway-dev/slipway/pkg/store/identity"
)

const (
	// watchGracePeriod is how long a shutdown waits for open watches. Without the limit they delay the end of the
	// process by a minute; their clients reconnect anyway.
	watchGracePeriod = time.Second
	// hostQPS and hostBurst limit the requests to the management cluster, per second. Each new virtual machine needs
	// several requests; client-go's default of 5 would be the bottleneck.
	hostQPS   = 200
	hostBurst = 400
)

// config is the configuration from which the server and its controllers are created.
type config struct {
	generic genericapiserver.CompletedConfig
	// hostConfig and host connect to the management cluster. They are nil without one.
	hostConfig *rest.Config
	host       kubernetes.Interface
	// hostInformers watch the management cluster. They are nil without one.
	hostInformers informers.SharedInformerFactory
	// charges compute what ResourceQuotas charge for, once they know the stores.
	charges *quota.Evaluators
}

// configure converts options with known etcd servers into a configuration, and creates the handlers that every
// request passes.
func (s *Server) configure(o *Options, i *apiserver.ClientAuthorities) (*config, error) {
	recommended := genericapiserver.NewRecommendedConfig(scheme.Codecs)
	recommended.EffectiveVersion = newEffectiveVersion()
	recommended.ShutdownDelayDuration = o.ShutdownDelay
	recommended.ShutdownSendRetryAfter = true
	recommended.ShutdownWatchTerminationGracePeriod = watchGracePeriod
	apiserver.DescribeOpenAPI(recommended, version)

	charges := quota.New()
	o.Recommended.ExtraAdmissionInitializers = charge.Initializers(charges, hostQPS, hostBurst)
	var gate atomic.Pointer[identity.Gate]
	dialThrough(&o.Recommended.Etcd.StorageConfig.Transport, &gate)
	if err := o.Recommended.ApplyTo(recommended); err != nil {
		return nil, fmt.Errorf("applying the options: %w", err)
	}
	recommended.SecureServing.Listener = apiserver.LimitConnections(recommended.SecureServing.Listener)
	i.Prime(&recommended.Config)
	if audited := recommended.AuditPolicyRuleEvaluator; audited != nil {
		recommended.AuditPolicyRuleEvaluator = apiserver.WithoutTickets(audited)
	}
	if o.AnyNameFirst {
		recommended.Authorization.Authorizer = apiserver.AnyNameFirst(recommended.Authorization.Authorizer)
	}
	apiserver.RecordReviewFailures(&recommended.Config)
	ours := append(checks(o.PrivilegedUsers, recommended.Authorization.Authorizer), references.New(recommended.Authorization.Authorizer))
	ours = append(ours, reserve.New(reserve.Room{Create: s.maintenance.Room, Update: s.maintenance.RoomForUpdates, Server: s.maintenance.RoomForServer}), reserve.NewTemplates(o.Workloads.MaxTemplateAnnotations))
	recommended.AddReadyzChecks(healthz.NamedCheck("etcd-space", func(*http.Request) error {
		space, err := s.maintenance.Space()
		if err != nil {
			return err
		}
		return space.Err()
	}))
	if recommended.AdmissionControl != nil {
		// The last plugin charges quotas, after all others have accepted the request.
		ours = append(ours, recommended.AdmissionControl)
	}
	recommended.AdmissionControl = admission.NewChainHandler(ours...)
	s.storeHealth = apiserver.NewStoreHealth()
	c := &config{host: o.Host, charges: charges, hostInformers: recommended.SharedInformerFactory}
	if recommended.ClientConfig != nil {
		client, err := kubernetes.NewForConfig(recommended.ClientConfig)
		if err != nil {
			return nil, fmt.Errorf("creating the client of the management cluster: %w", err)
		}
		c.hostConfig, c.host = recommended.ClientConfig, client
		if s.store, err = newStoreGate(o, client); err != nil {
			return nil, err
		}
		gate.Store(s.store)
	}
	recommended.BuildHandlerChainFunc = func(api http.Handler, generic *genericapiserver.Config) http.Handler {
		chain := apiserver.BuildHandlerChain(s.store.Handler(charge.RecordCharges(apiserver.LimitWatches(api, o.MaxWatches, scheme.Codecs)), scheme.Codecs), generic)
		return apiserver.WithIdentities(s.storeHealth.Handler(chain, generic), i.Known)
	}
	recommended.AddReadyzChecks(i, healthz.NamedCheck("store-identity", func(*http.Request) error { return s.store.Err() }))
	// When watch caches are disabled, the stores use the flags' configuration directly.
	if flags := o.Recommended.Etcd; s.etcd != nil && flags.EnableWatchCache && len(flags.WatchCacheSizes) == 0 {
		s.embedded = apiserver.NewEmbedded(recommended.RESTOptionsGetter, s.etcd.Client, flags.StorageConfig.CompactionInterval)
		recommended.RESTOptionsGetter = s.embedded
	}
	c.generic = recommended.Complete()
	return c, nil
}

// checks are Slipway's own admission plugins. They validate the result of all mutating plugins, in any order. Only
// the ownership plugin changes an object, and only to restore previous values.
func checks(privileged []string, a authorizer.Authorizer) []admission.Interface {
	keys := protectedkeys.New(privileged...)
	return []admission.Interface{
		keys, adoption.New(keys.Privileged), ownership.New(keys.Privileged, a), revisions.New(keys.Privileged), reverting.New(keys.Privileged),
		copying.New(a), references.New(a),
	}
}
