// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"sort"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

// Factory gives the verbs what they need: streams, client and namespace.
type Factory struct {
	program string
	flags   *genericclioptions.ConfigFlags
	streams genericiooptions.IOStreams
}

func newFactory(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) *Factory {
	return &Factory{flags: flags, streams: streams}
}

// manifestObject is an object of the API.
type manifestObject interface {
	runtime.Object
	metav1.Object
}

// printManifest prints the manifest of obj. One of a namespaced kind has the namespace
// that the flags name, and none when it is the kubeconfig's choice.
func (f *Factory) printManifest(obj manifestObject, namespaced bool) error {
	if f.flags.Namespace != nil && namespaced {
		obj.SetNamespace(*f.flags.Namespace)
	}
	return printManifests(f.streams.Out, obj)
}

// client returns a clientset and the namespace that the flags and the
// kubeconfig choose.
func (f *Factory) client() (versioned.Interface, string, error) {
	namespace, _, err := f.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("reading the namespace from the kubeconfig: %w", err)
	}
	config, err := f.flags.ToRESTConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.WarningHandler = rest.NewWarningWriter(f.streams.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	// One verb over many virtual machines is one user's wish, not a flood.
	config.QPS, config.Burst = 50, 100
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, "", fmt.Errorf("making a client: %w", err)
	}
	return client, namespace, nil
}

// selection says which virtual machines a verb is for.
type selection struct {
	names         []string
	selector      string
	allNamespaces bool
}

func (s *selection) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.selector, "selector", "l", "", "Label selector, instead of names")
	cmd.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "With -l: in all namespaces")
}

func (s *selection) validate() error {
	switch {
	case len(s.names) > 0 && s.selector != "":
		return fmt.Errorf("names and --selector exclude each other: got %d name(s) and selector %q", len(s.names), s.selector)
	case len(s.names) == 0 && s.selector == "":
		return fmt.Errorf("no virtual machine given: name one or more, or use --selector")
	case s.allNamespaces && s.selector == "":
		return fmt.Errorf("--all-namespaces goes with --selector, not with names")
	}
	return nil
}

// target is one virtual machine.
type target struct{ namespace, name string }

// resolve lists what the selection means.
func (s *selection) resolve(ctx context.Context, client versioned.Interface, namespace string) ([]target, error) {
	if s.selector == "" {
		targets := make([]target, 0, len(s.names))
		for _, name := range s.names {
			targets = append(targets, target{namespace, name})
		}
		return targets, nil
	}
	if s.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	list, err := client.VmV1alpha1().VirtualMachines(namespace).List(ctx, metav1.ListOptions{LabelSelector: s.selector})
	if err != nil {
		return nil, fmt.Errorf("listing virtual machines with selector %q: %w", s.selector, err)
	}
	targets := make([]target, 0, len(list.Items))
	for i := range list.Items {
		targets = append(targets, target{list.Items[i].Namespace, list.Items[i].Name})
	}
	sort.Slice(targets, func(i, j int) bool {
		if targets[i].namespace != targets[j].namespace {
			return targets[i].namespace < targets[j].namespace
		}
		return targets[i].name < targets[j].name
	})
	return targets, nil
}

// each calls do for every target and prints one line for every failure.
func (f *Factory) each(targets []target, client versioned.Interface, do func(vmclient.VirtualMachineInterface, target) error) error {
	failed := false
	for _, t := range targets {
		if err := do(client.VmV1alpha1().VirtualMachines(t.namespace), t); err != nil {
			failed = true
			fmt.Fprintf(f.streams.ErrOut, "error: virtualmachine %s/%s: %s\n", t.namespace, t.name, reason(err))
		}
	}
	if failed {
		return errReported
	}
	return nil
}

// reason is the part of an API error that a person needs.
func reason(err error) string {
	switch {
	case !apierrors.IsNotFound(err):
		return err.Error()
	case apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		// A page that is no answer of the API: nobody serves the path.
		return fmt.Sprintf("the cluster does not serve %s", vmv1alpha1.SchemeGroupVersion)
	default:
		return "not found"
	}
}

// host returns a client of the kinds of Kubernetes.
func (f *Factory) host() (kubernetes.Interface, error) {
	config, err := f.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	host, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return host, nil
}

// readFile reads a file, or standard input for "-".
func (f *Factory) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(f.streams.In)
	}
	return os.ReadFile(name)
}
