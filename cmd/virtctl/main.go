// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command virtctl controls the virtual machines of Slipway. Installed as kubectl-virt or
// kubectl-slipway it is also `kubectl virt` or `kubectl slipway`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slipway-dev/slipway/cmd/virtctl/root"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second interrupt ends the process without waiting for the cleanup.
	context.AfterFunc(ctx, stop)
	code := root.Main(ctx, os.Args, genericclioptions.NewConfigFlags(true), genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
	stop()
	os.Exit(code)
}
