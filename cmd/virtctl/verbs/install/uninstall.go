// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/deployment"
)

const (
	kindAPIService = "APIService"
	kindNamespace  = "Namespace"
	kindClaim      = "PersistentVolumeClaim"
	kindAccount    = "ServiceAccount"
	kindSet        = "StatefulSet"
	kindDefinition = "CustomResourceDefinition"
)

// defaultUninstallTimeout allows for the graceful shutdown of servers.
const defaultUninstallTimeout = 5 * time.Minute

// VCentersResource is the resource of the only objects of Slipway's API that install creates.
const VCentersResource = "vcenters"

// derived lists the kinds that the server creates from other objects and that are deleted with these.
var derived = []string{"virtualmachineinstances", "controllerrevisions"}

// NewUninstallCommand returns the command.
func NewUninstallCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	u := &uninstall{f: f}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove Slipway from a cluster",
		Long: "Remove Slipway from a cluster. The VCenter that install created and the APIServices are deleted first: while an APIService exists\n" +
			"without a server, no namespace of the cluster can be deleted. The objects of artifacts/deploy follow, with its components and\n" +
			"the objects for Cluster API. The namespace and the store's volumes in it are kept. The command fails while there are\n" +
			"other objects, or if the server cannot be queried for them. It shows progress, exits with status 3 if --timeout expires\n" +
			"first, and can be interrupted and run again.",
		Example: fmt.Sprintf("  %[1]s uninstall --dry-run\n  %[1]s uninstall\n  %[1]s uninstall --leave-objects", f.Program),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u.timeout <= 0 {
				return fmt.Errorf("--timeout %s: must be more than 0s", u.timeout)
			}
			var err error
			if u.cluster, err = NewApplier(factory, false); err != nil {
				return err
			}
			return u.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&u.leaveObjects, "leave-objects", false, "Uninstall even if objects exist: they stay in the store, and their VMs keep running in vSphere but are no longer managed")
	cmd.Flags().BoolVar(&u.deleteNamespace, "delete-namespace", false, "Also delete the server's namespace, with the store's volumes and all other objects in it")
	cmd.Flags().DurationVar(&u.timeout, "timeout", defaultUninstallTimeout, "How long to wait for each of VCenter, API and server to be deleted")
	u.dryRun.AddFlag(cmd, "Only validate on the server, without deleting anything")
	return cmd
}

// uninstall is one run of the command.
type uninstall struct {
	f                             command
	leaveObjects, deleteNamespace bool
	timeout                       time.Duration
	dryRun                        cli.DryRun
	cluster                       *Applier
}

func (u *uninstall) run(ctx context.Context) error {
	ofBase, added, err := deployment.Removable()
	if err != nil {
		return err
	}
	apis, rest := u.divide(ofBase)
	rest = append(rest, u.added(added)...)
	made, err := u.judge(ctx, apis)
	if err != nil {
		return err
	}
	for _, list := range [][]*unstructured.Unstructured{made, apis, rest} {
		for _, o := range list {
			if err := u.remove(ctx, o); err != nil {
				return err
			}
		}
		// The server must run as long as the management cluster forwards requests to it.
		if err := u.await(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

// divide returns the APIServices, and the other objects in the order of their deletion: the server before the
// permissions that it needs for its shutdown.
func (u *uninstall) divide(all []*unstructured.Unstructured) (apis, rest []*unstructured.Unstructured) {
	for _, o := range all {
		switch kind := o.GetKind(); {
		case kind == kindAPIService:
			apis = append(apis, o)
		case (kind == kindNamespace || kind == kindClaim) && !u.deleteNamespace:
		default:
			rest = append(rest, o)
		}
	}
	return apis, rest
}

// added returns the objects of optional components. The definitions for Cluster API are kept as long as objects of
// their kinds exist.
func (u *uninstall) added(all []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return u.leaveObjects && o.GetKind() == kindDefinition })
}

// judge returns the API's objects that install created, and an error if the API must not be deleted.
func (u *uninstall) judge(ctx context.Context, apis []*unstructured.Unstructured) (made []*unstructured.Unstructured, err error) {
	if u.leaveObjects {
		return nil, nil
	}
	var there []string
	for _, api := range apis {
		if _, err := u.cluster.resource(api).Get(ctx, api.GetName(), metav1.GetOptions{}); apierrors.IsNotFound(err) {
			continue // deleted by an earlier run, which had passed the checks
		} else if err != nil {
			return nil, fmt.Errorf("reading APIService %s: %w", api.GetName(), err)
		}
		found, own, err := u.objects(ctx, api)
		if err != nil {
			return nil, fmt.Errorf("cannot check for objects of %s: %w; restore the server, or use --leave-objects to leave any objects (docs/how-to/operate/uninstall.md)", api.GetName(), err)
		}
		there, made = append(there, found...), append(made, own...)
	}
	if len(there) > 0 {
		slices.Sort(there)
		return nil, fmt.Errorf("objects still exist: %s; delete them, which deletes their VMs in vSphere, or use --leave-objects", strings.Join(there, ", "))
	}
	return made, nil
}

// objects counts the objects of each kind of an APIService, and returns those that install created separately.
func (u *uninstall) objects(ctx context.Context, api *unstructured.Unstructured) (found []string, made []*unstructured.Unstructured, err error) {
	version, group, _ := strings.Cut(api.GetName(), ".")
	kinds, err := u.cluster.Discovery.ServerResourcesForGroupVersionWithContext(ctx, schema.GroupVersion{Group: group, Version: version}.String())
	if err != nil {
		return nil, nil, err
	}
	for _, kind := range kinds.APIResources {
		if strings.Contains(kind.Name, "/") || slices.Contains(derived, kind.Name) || !slices.Contains(kind.Verbs, "list") {
			continue
		}
		options := metav1.ListOptions{Limit: 1}
		if kind.Name == VCentersResource {
			options.Limit = 0 // there are few, and each is checked
		}
		list, err := u.cluster.Client.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: kind.Name}).List(ctx, options)
		if err != nil {
			return nil, nil, err
		}
		n := int64(len(list.Items))
		if remaining := list.GetRemainingItemCount(); remaining != nil {
			n += *remaining
		}
		for i := range list.Items {
			if kind.Name == VCentersResource && installed(&list.Items[i]) {
				made = append(made, &list.Items[i])
				n--
			}
		}
		if n > 0 {
			found = append(found, fmt.Sprintf("%d %s", n, kind.Name))
		}
	}
	return found, made, nil
}

// installed reports whether install applied the object, even if another client has changed it since.
func installed(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == installManager && m.Operation == metav1.ManagedFieldsOperationApply
	})
}

// remove deletes an object; a missing object is no error. Only the StatefulSet is deleted in the foreground, because
// that waits for the cluster's garbage collector.
func (u *uninstall) remove(ctx context.Context, o *unstructured.Unstructured) error {
	options := metav1.DeleteOptions{DryRun: u.dryRun.Options()}
	if uid := o.GetUID(); uid != "" { // it was read from the server
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	} else if o.GetKind() == kindSet {
		options.PropagationPolicy = ptr.To(metav1.DeletePropagationForeground)
	}
	err := u.cluster.resource(o).Delete(ctx, o.GetName(), options)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("deleting %s: %w", Called(o), err)
	}
	said := Called(o) + " deleted"
	if u.dryRun.On() {
		said += " (server dry run)"
	}
	_, err = fmt.Fprintln(u.f.Streams.Out, said)
	return err
}

// await waits until none of the objects exists, and shows progress. A namespace waits for its contents.
func (u *uninstall) await(ctx context.Context, all []*unstructured.Unstructured) error {
	if u.dryRun.On() {
		return nil
	}
	return u.f.AwaitState(ctx, u.timeout, "partially uninstalled; run the command again", func(ctx context.Context) (bool, string, error) {
		for _, o := range all {
			if o.GetKind() == kindNamespace || o.GetKind() == kindAccount || o.GetKind() == kindClaim {
				continue
			}
			got, err := u.cluster.resource(o).Get(ctx, o.GetName(), metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				continue
			case err != nil:
				return false, "", err
			}
			waits := "waiting for the deletion of " + Called(o)
			if _, why := ConditionOf(got, "Deleting"); why != "" {
				waits += ": " + why
			} else if finalizers := got.GetFinalizers(); len(finalizers) > 0 {
				waits += ", blocked by finalizers: " + strings.Join(finalizers, ", ")
			}
			return false, waits, nil
		}
		return true, "", nil
	})
}
