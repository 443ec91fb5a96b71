// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

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
	Program string
	Flags   *genericclioptions.ConfigFlags
	Streams genericiooptions.IOStreams
}

// NewFactory returns a Factory for flags and streams.
func NewFactory(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) *Factory {
	return &Factory{Flags: flags, Streams: streams}
}

// ManifestObject is an object of the API.
type ManifestObject interface {
	runtime.Object
	metav1.Object
}

// PrintManifest prints the manifest of obj. One of a namespaced kind has the namespace
// that the flags name, and none when it is the kubeconfig's choice.
func (f *Factory) PrintManifest(obj ManifestObject, namespaced bool) error {
	if f.Flags.Namespace != nil && namespaced {
		obj.SetNamespace(*f.Flags.Namespace)
	}
	return PrintManifests(f.Streams.Out, obj)
}

// Config returns how the cluster is reached that the flags and the kubeconfig choose.
func (f *Factory) Config() (*rest.Config, error) {
	config, err := f.Flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	// One verb over many virtual machines is one user's wish, not a flood, and the server limits its clients itself. A
	// rate limiter of the client would also fail requests that it foresees to end after the deadline of a wait.
	config.QPS = -1
	return config, nil
}

// Client returns a clientset and the namespace that the flags and the
// kubeconfig choose.
func (f *Factory) Client() (versioned.Interface, string, error) {
	namespace, _, err := f.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("reading the namespace from the kubeconfig: %w", err)
	}
	config, err := f.Config()
	if err != nil {
		return nil, "", err
	}
	config.WarningHandler = rest.NewWarningWriter(f.Streams.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, "", fmt.Errorf("making a client: %w", err)
	}
	return client, namespace, nil
}

// Selection says which virtual machines a verb is for.
type Selection struct {
	Names         []string
	Selector      string
	allNamespaces bool
}

// AddFlags adds the flags.
func (s *Selection) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.Selector, "selector", "l", "", "Label selector, instead of names")
	cmd.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "With -l: in all namespaces")
}

// Validate returns an error unless names and flags go together.
func (s *Selection) Validate() error {
	switch {
	case len(s.Names) > 0 && s.Selector != "":
		return fmt.Errorf("names and --selector exclude each other: got %d name(s) and selector %q", len(s.Names), s.Selector)
	case len(s.Names) == 0 && s.Selector == "":
		return fmt.Errorf("no virtual machine given: name one or more, or use --selector")
	case s.allNamespaces && s.Selector == "":
		return fmt.Errorf("--all-namespaces goes with --selector, not with names")
	}
	return nil
}

// Target is one virtual machine.
type Target struct{ Namespace, Name string }

// Resolve lists what the selection means.
func (s *Selection) Resolve(ctx context.Context, client versioned.Interface, namespace string) ([]Target, error) {
	if s.Selector == "" {
		targets := make([]Target, 0, len(s.Names))
		for _, name := range s.Names {
			targets = append(targets, Target{namespace, name})
		}
		return targets, nil
	}
	if s.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	list, err := client.VmV1alpha1().VirtualMachines(namespace).List(ctx, metav1.ListOptions{LabelSelector: s.Selector})
	if err != nil {
		return nil, fmt.Errorf("listing virtual machines with selector %q: %w", s.Selector, err)
	}
	targets := make([]Target, 0, len(list.Items))
	for i := range list.Items {
		targets = append(targets, Target{list.Items[i].Namespace, list.Items[i].Name})
	}
	sort.Slice(targets, func(i, j int) bool {
		if targets[i].Namespace != targets[j].Namespace {
			return targets[i].Namespace < targets[j].Namespace
		}
		return targets[i].Name < targets[j].Name
	})
	return targets, nil
}

// Each calls do for every target and prints one line for every failure.
func (f *Factory) Each(targets []Target, client versioned.Interface, do func(vmclient.VirtualMachineInterface, Target) error) error {
	failed := false
	for _, t := range targets {
		if err := do(client.VmV1alpha1().VirtualMachines(t.Namespace), t); err != nil {
			failed = true
			fmt.Fprintf(f.Streams.ErrOut, "error: virtualmachine %s/%s: %s\n", t.Namespace, t.Name, Reason(err))
		}
	}
	if failed {
		return ErrReported
	}
	return nil
}

// Reason is the part of an API error that a person needs.
func Reason(err error) string {
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

// Host returns a client of the kinds of Kubernetes.
func (f *Factory) Host() (kubernetes.Interface, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	host, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return host, nil
}

// ReadFile reads a file, or standard input for "-".
func (f *Factory) ReadFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(f.Streams.In)
	}
	return os.ReadFile(name)
}
