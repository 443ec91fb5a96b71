// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/pkg/apiserver/admission/reserve"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/lease/fence"
)

// clients are the clients of the controllers. Their writes wait until this process may act.
type clients struct {
	// config and hostConfig connect to this API and to the management cluster.
	config, hostConfig *rest.Config
	fence              *fence.Fence
	client             versioned.Interface
	host               kubernetes.Interface
	dynamic            dynamic.Interface
}

// newClients returns clients of the API at loopback and of the management cluster.
func newClients(o *Options, loopback, hostConfig *rest.Config, may *fence.Fence) (*clients, error) {
	c := &clients{fence: may, config: protobufConfig(loopback), hostConfig: rest.CopyConfig(hostConfig)}
	c.config.Wrap(may.WrapTransport)
	c.hostConfig.Wrap(may.WrapTransport)
	var err error
	if c.client, err = versioned.NewForConfig(c.config); err != nil {
		return nil, fmt.Errorf("creating the client of this API: %w", err)
	}
	if c.host, err = kubernetes.NewForConfig(c.hostConfig); err != nil {
		return nil, fmt.Errorf("creating the controllers' client of the management cluster: %w", err)
	}
	c.host = o.limitSecrets(c.host)
	if c.dynamic, err = dynamic.NewForConfig(c.hostConfig); err != nil {
		return nil, fmt.Errorf("creating the dynamic client of the management cluster: %w", err)
	}
	return c, nil
}

// userClients are clients of this API that act as the user of a controller.
type userClients struct {
	client versioned.Interface
	kinds  *contract.Resolver
}

// as returns clients for a controller that creates objects on behalf of users. The controller has a user name of its
// own, so that admission policies can distinguish its writes from other writes of the server.
func (a *controllers) as(name string) userClients {
	config := rest.CopyConfig(a.clients.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: reserve.ControllerUser(name), Groups: []string{user.SystemPrivilegedGroup}}
	client, err := versioned.NewForConfig(config)
	objects, dynamicErr := dynamic.NewForConfig(config)
	if err := errors.Join(err, dynamicErr); err != nil {
		a.errs = append(a.errs, fmt.Errorf("creating the clients of controller %s: %w", name, err))
	}
	return userClients{client: client, kinds: a.kinds.WithOwnClient(objects)}
}

// protobufConfig returns config for a client that uses protobuf and has no rate limit, because the server is this
// process.
func protobufConfig(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	c.QPS = -1
	c.UserAgent = serverName + "/" + version
	// Warnings are for the author of an object, who has already received them.
	c.WarningHandler = rest.NoWarnings{}
	return c
}
