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

// defaultUninstallTimeout is for servers that end, which let those who use them go first.
const defaultUninstallTimeout = 5 * time.Minute

// VCentersResource are the only objects of the server's that install makes.
const VCentersResource = "vcenters"

// derived are kinds that the server makes of others, and that go with these.
var derived = []string{"virtualmachineinstances", "controllerrevisions"}

// NewUninstallCommand returns the command.
func NewUninstallCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	u := &uninstall{f: f}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take Slipway out of a cluster: first its API, then the server",
		Long: "Take Slipway out of a cluster. First the VCenter goes that install has made, if it has, and the APIServices: while one is there\n" +
			"and nothing serves it, no namespace of the cluster can be deleted. Then goes what artifacts/deploy has made, its components and\n" +
			"what it makes for Cluster API among it, but for the namespace, in which the volumes of the store stay. It refuses while there are\n" +
			"other objects, and when the server cannot be asked whether there are. It tells what it waits for, exits with 3 if --timeout expires\n" +
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
	cmd.Flags().BoolVar(&u.leaveObjects, "leave-objects", false, "Uninstall although there are objects, or nobody can tell: they stay in the store. VMs run on in vSphere, and nobody takes care of them or of what they hold")
	cmd.Flags().BoolVar(&u.deleteNamespace, "delete-namespace", false, "Delete the namespace of the server, too, with the volumes of the store and with all that others have put there")
	cmd.Flags().DurationVar(&u.timeout, "timeout", defaultUninstallTimeout, "How long to wait for the VCenter, for the API and for the server to go, each")
	u.dryRun.AddFlag(cmd, "With server, the default without a value: let the server judge and delete nothing")
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
		// The server is needed as long as the host cluster passes requests on to it.
		if err := u.await(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

// divide returns the APIServices, and what else is to be removed, in this order: the server
// goes before the rights that it needs to end.
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

// added returns the objects of components. The definitions for Cluster API stay as long as it has
// objects of their kinds.
func (u *uninstall) added(all []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return u.leaveObjects && o.GetKind() == kindDefinition })
}

// judge returns what install has made of the API's objects, and an error when the API must not go.
func (u *uninstall) judge(ctx context.Context, apis []*unstructured.Unstructured) (made []*unstructured.Unstructured, err error) {
	if u.leaveObjects {
		return nil, nil
	}
	var there []string
	for _, api := range apis {
		if _, err := u.cluster.resource(api).Get(ctx, api.GetName(), metav1.GetOptions{}); apierrors.IsNotFound(err) {
			continue // an earlier run has removed it, after it had judged
		} else if err != nil {
			return nil, fmt.Errorf("reading APIService %s: %w", api.GetName(), err)
		}
		found, own, err := u.objects(ctx, api)
		if err != nil {
			return nil, fmt.Errorf("whether there are objects of %s cannot be asked: %w; bring the server back, or leave what there may be with --leave-objects (docs/how-to/operate/uninstall.md)", api.GetName(), err)
		}
		there, made = append(there, found...), append(made, own...)
	}
	if len(there) > 0 {
		slices.Sort(there)
		return nil, fmt.Errorf("there are objects: %s; delete them, which deletes their VMs in vSphere, or leave them with --leave-objects", strings.Join(there, ", "))
	}
	return made, nil
}

// objects says how many there are of each kind of an APIService, but for those that install has
// made, which it returns.
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
			options.Limit = 0 // they are few, and each is looked at
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

// installed is true of what install has applied, whoever has changed it since.
func installed(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == installManager && m.Operation == metav1.ManagedFieldsOperationApply
	})
}

// remove deletes an object. One that is not there is as it should be. Only the set is there until its
// pods are gone: what waits for the host's garbage collector waits for all that this one has to do.
func (u *uninstall) remove(ctx context.Context, o *unstructured.Unstructured) error {
	options := metav1.DeleteOptions{DryRun: u.dryRun.Options()}
	if uid := o.GetUID(); uid != "" { // it was read
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

// await waits until none of the objects is there, and tells which of them it waits for. A service
// account waits for nothing, and a namespace as long as what is in it.
func (u *uninstall) await(ctx context.Context, all []*unstructured.Unstructured) error {
	if u.dryRun.On() {
		return nil
	}
	return u.f.AwaitState(ctx, u.timeout, "uninstalled in part, run it again", func(ctx context.Context) (bool, string, error) {
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
			waits := "waiting until " + Called(o) + " is gone"
			if _, why := ConditionOf(got, "Deleting"); why != "" {
				waits += ": " + why
			} else if finalizers := got.GetFinalizers(); len(finalizers) > 0 {
				waits += ", which these finalizers hold: " + strings.Join(finalizers, ", ")
			}
			return false, waits, nil
		}
		return true, "", nil
	})
}
