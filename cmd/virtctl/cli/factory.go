// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
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

// Factory provides streams, clients and the namespace to the commands.
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

// PrintManifest prints the manifest of obj. A namespaced object gets the namespace of the flags, but not that of the
// kubeconfig.
func (f *Factory) PrintManifest(obj ManifestObject, namespaced bool) error {
	if f.Flags.Namespace != nil && namespaced {
		obj.SetNamespace(*f.Flags.Namespace)
	}
	return PrintManifests(f.Streams.Out, obj)
}

// HasCluster reports whether the flags, the kubeconfig or the Pod of this process specify a cluster.
func (f *Factory) HasCluster() (bool, error) {
	if f.Flags.APIServer != nil && *f.Flags.APIServer != "" {
		return true, nil
	}
	config, err := f.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return false, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if len(config.Clusters) > 0 {
		return true, nil
	}
	_, err = rest.InClusterConfig()
	return !errors.Is(err, rest.ErrNotInCluster), nil
}

// Config returns the client configuration of the flags and the kubeconfig.
func (f *Factory) Config() (*rest.Config, error) {
	config, err := f.Flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	// Client-side rate limiting is disabled. The server limits its clients, and the client's limiter would fail
	// requests that it expects to exceed the deadline of a wait.
	config.QPS = -1
	return config, nil
}

// Client returns a clientset and the namespace of the flags and the kubeconfig.
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
		return nil, "", fmt.Errorf("creating the client: %w", err)
	}
	return client, namespace, nil
}

// Selection selects the virtual machines of a command.
type Selection struct {
	Names         []string
	Selector      string
	allNamespaces bool
	all           bool
}

// SelectAll selects all virtual machines, instead of names or a selector.
func (s *Selection) SelectAll() error {
	if len(s.Names) > 0 || s.Selector != "" {
		return fmt.Errorf("--all cannot be combined with names or --selector")
	}
	s.all = true
	return nil
}

// AddFlags adds the flags.
func (s *Selection) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.Selector, "selector", "l", "", "Label selector, instead of names")
	cmd.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "With -l: include all namespaces")
}

// Validate returns an error if names and flags are combined incorrectly.
func (s *Selection) Validate() error {
	switch {
	case len(s.Names) > 0 && s.Selector != "":
		return fmt.Errorf("names and --selector are mutually exclusive: got %d name(s) and selector %q", len(s.Names), s.Selector)
	case len(s.Names) == 0 && s.Selector == "" && !s.all:
		return fmt.Errorf("no virtual machine specified: give one or more names, or use --selector")
	case s.allNamespaces && s.Selector == "" && !s.all:
		return fmt.Errorf("--all-namespaces requires --selector and cannot be combined with names")
	}
	return nil
}

// Target is one virtual machine.
type Target struct{ Namespace, Name string }

// Resolve returns the selected virtual machines.
func (s *Selection) Resolve(ctx context.Context, client versioned.Interface, namespace string) ([]Target, error) {
	if s.Selector == "" && !s.all {
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

// Each calls do for every target and prints one line for each failure.
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

// Reason returns the part of an API error that is useful to a user.
func Reason(err error) string {
	switch {
	case !apierrors.IsNotFound(err):
		return err.Error()
	case apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		// A response that is not an API error: the path is not served.
		return fmt.Sprintf("the cluster does not serve %s", vmv1alpha1.SchemeGroupVersion)
	default:
		return "not found"
	}
}

// Host returns a client of the built-in kinds.
func (f *Factory) Host() (kubernetes.Interface, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	host, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the client: %w", err)
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
