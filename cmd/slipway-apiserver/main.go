// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command slipway-apiserver serves virtual machines as Kubernetes API objects and reconciles them with vSphere.
package main

import (
	"os"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
)

func main() {
	ctx := genericapiserver.SetupSignalContext()
	os.Exit(cli.Run(app.NewCommand(ctx)))
}
