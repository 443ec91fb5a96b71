// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/upload"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// published returns an error if no ContentLibrary object would create an image of the item.
func (f command) published(ctx context.Context, library string) error {
	client, _, err := f.Client()
	if err != nil {
		return err
	}
	all, err := client.VmV1alpha1().ContentLibraries().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("--wait: listing ContentLibraries: %s", cli.Reason(err))
	}
	if !slices.ContainsFunc(all.Items, func(l vmv1alpha1.ContentLibrary) bool { return l.Spec.Library == library }) {
		return fmt.Errorf("--wait: no ContentLibrary object publishes the content library %q, so no image would be created", library)
	}
	return nil
}

// waitForImage waits until an image of the uploaded version is ready.
func (f command) waitForImage(ctx context.Context, o *imageImport, made upload.Result, p *cli.Progress) error {
	client, _, err := f.Client()
	if err != nil {
		return err
	}
	p.Say("waiting for an image of the item")
	last, told, began := "no image exists", "", time.Now()
	// The timeout bounds the wait, but at least one check is done.
	err = wait.PollUntilContextTimeout(ctx, cli.WaitInterval, o.timeout, true, func(context.Context) (bool, error) {
		images, err := ListImages(ctx, client, metav1.NamespaceAll)
		if err != nil {
			last = err.Error() // may be transient
			return false, nil
		}
		for _, i := range images {
			from := i.Spec.ContentLibrary
			if from == nil || from.Library != o.library || from.Item != o.name {
				continue
			}
			name := KindOfImage(i) + "/" + i.Name
			if i.Namespace != "" {
				name += " in namespace " + i.Namespace
			}
			if i.Status.ProviderItemID == made.Item && i.Status.ContentVersion == made.ContentVersion && i.Status.Readiness() == string(metav1.ConditionTrue) {
				p.Say("%s is ready", name)
				return true, nil
			}
			last = fmt.Sprintf("%s is of version %q, ready: %s", name, i.Status.ContentVersion, i.Status.Readiness())
		}
		told = p.State(last, told, time.Since(began).Round(time.Second).String())
		return false, nil
	})
	if err != nil {
		return &cli.ExitError{Code: 3, Err: fmt.Errorf("item %q was imported, but no image of it is ready yet: %s", o.name, last)}
	}
	return nil
}

// completeLibraries completes names of published libraries.
func (f command) completeLibraries(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	client, _, err := f.Client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.CompletionTimeout)
	defer cancel()
	list, err := client.VmV1alpha1().ContentLibraries().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Spec.Library)
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}
