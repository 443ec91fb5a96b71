// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/foreign"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

// adoption holds the flags of virtctl adopt.
type adoption struct {
	paths, folders []string
	apply          bool
	dryRun         cli.DryRun
	timeout        time.Duration
	copies         copies
	vcenter        cli.VCenterFlags
}

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	var o adoption
	cmd := &cobra.Command{
		Use:   "adopt [PATH...]",
		Short: "Adopt existing vSphere VMs",
		Long: "Write manifests that adopt existing vSphere VMs with their current size, firmware, disks, networks and\n" +
			"power state. PATH is an inventory path, with optional wildcards, or a VM name if there is one datacenter. --folder selects all VMs below a\n" +
			"folder. Comments list what a manifest does not contain; adoption does not change these settings.\n\n" +
			"By default the manifests are printed. --dry-run shows the effect on each VM and validates the\n" +
			"objects on the server. --apply creates the objects and waits until the VMs are adopted. Adoption does not restart a VM, and changes\n" +
			"only the settings that identify its owner. Afterwards, deleting the object deletes the VM.\n\n" +
			"Skipped with a message: VMs of Slipway, templates, system VMs of vSphere Cluster Services, VMs managed by other products, and VMs\n" +
			"outside the folders of all Zones.\n\n" +
			"The command connects to vCenter with your own account, not with that of Slipway. Specify it by flags or by the\n" +
			"environment variables of govc (GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD, GOVC_INSECURE, GOVC_TLS_CA_CERTS). Only privileged users of the\n" +
			"cluster may create the objects, because vSphere has no namespaces.\n\n" +
			"--copies confirms VMs that have the identity of a VM that is missing from vSphere (STATUS CopyFound),\n" +
			"by name or with --all, for example after vCenter was restored. It does not connect to vCenter.\n\n" +
			"Exit status: 0 success, 1 failure, 3 timeout before all VMs were adopted.",
		Example: fmt.Sprintf("  export GOVC_URL=vcenter.example.com GOVC_USERNAME=me@vsphere.local GOVC_PASSWORD=...\n"+
			"  %[1]s adopt /DC0/vm/slipway/web-1 > web-1.yaml\n"+
			"  %[1]s adopt --folder /DC0/vm/slipway/legacy -n legacy --dry-run\n"+
			"  %[1]s adopt --folder /DC0/vm/slipway/legacy -n legacy --apply\n"+
			"  %[1]s adopt --copies --all -A --dry-run", f.Program),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths = args
			if err := o.copies.validate(args); err != nil {
				return err
			}
			if o.copies.on {
				return f.adoptCopies(cmd.Context(), &o)
			}
			return f.adopt(cmd.Context(), &o)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.folders, "folder", nil, "Select all VMs below this folder; may be repeated")
	flags.BoolVar(&o.apply, "apply", false, "Create the objects and wait until the VMs are adopted")
	flags.BoolVar(&o.copies.on, "copies", false, "Confirm the reported copies of missing VMs; arguments are names of virtual machines")
	flags.BoolVar(&o.copies.all, "all", false, "With --copies: all virtual machines with exactly one copy")
	flags.BoolVarP(&o.copies.allNamespaces, "all-namespaces", "A", false, "With --copies --all: include all namespaces")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "How long --apply waits")
	o.dryRun.AddFlag(cmd, "Show the effect on each VM and validate the objects on the server")
	o.vcenter.AddFlags(flags)
	return cmd
}

func (o *adoption) validate() error {
	switch {
	case len(o.paths) == 0 && len(o.folders) == 0:
		return errors.New("no virtual machine specified: give one or more inventory paths, or use --folder")
	case o.apply && o.dryRun.On():
		return errors.New("--apply and --dry-run are mutually exclusive")
	}
	return nil
}

func (f command) adopt(ctx context.Context, o *adoption) error {
	if err := o.validate(); err != nil {
		return err
	}
	server, err := o.vcenter.Server(ctx, f.Factory)
	if err != nil {
		return err
	}
	client, namespace, err := f.Client()
	if err != nil {
		return err
	}
	c, err := readContext(ctx, client, namespace)
	if err != nil {
		return err
	}
	found, err := foreign.Read(ctx, server, o.paths, o.folders)
	if err != nil {
		return err
	}
	if err := c.readOwners(ctx, client, found.Machines); err != nil {
		return err
	}
	candidates, skipped, err := c.candidates(found, namespace)
	if err != nil {
		return err
	}
	for _, s := range skipped {
		fmt.Fprintf(f.Streams.ErrOut, "skipped %s: %s\n", s.path, s.why)
	}
	switch {
	case len(candidates) == 0:
		err = errors.New("no virtual machine to adopt")
	case o.dryRun.On():
		err = f.showAdoption(ctx, client, candidates)
	case o.apply:
		err = f.takeOver(ctx, client, candidates, o.timeout)
	default:
		err = f.printAdoption(candidates)
	}
	if err == nil && len(o.folders) == 0 && len(skipped) > 0 {
		return cli.ErrReported // each was requested by name
	}
	return err
}

// adoptionContext is the information that the cluster has already.
type adoptionContext struct {
	vcenters []vmv1alpha1.VCenter
	zones    []vmv1alpha1.Zone
	// taken maps the object names in use in the namespace to their VMs.
	taken map[string]string
	// orphaned are the owners of VMs whose objects do not exist.
	orphaned map[types.NamespacedName]bool
}

// readOwners finds the VMs whose objects do not exist. It ignores namespaces that the user cannot read.
func (c *adoptionContext) readOwners(ctx context.Context, client versioned.Interface, machines []*foreign.Machine) error {
	owners := map[string][]types.NamespacedName{} // by namespace, to read each once
	for _, m := range machines {
		if owner, owned := foreign.OwnerOf(m); owned {
			owners[owner.Namespace] = append(owners[owner.Namespace], owner)
		}
	}
	c.orphaned = map[types.NamespacedName]bool{}
	for namespace, owners := range owners {
		list, err := client.VmV1alpha1().VirtualMachines(namespace).List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsForbidden(err):
			continue
		case err != nil:
			return fmt.Errorf("reading the virtual machines of namespace %s: %s", namespace, cli.Reason(err))
		}
		exists := map[string]bool{}
		for i := range list.Items {
			exists[list.Items[i].Name] = true
		}
		for _, owner := range owners {
			c.orphaned[owner] = !exists[owner.Name]
		}
	}
	return nil
}

func readContext(ctx context.Context, client versioned.Interface, namespace string) (*adoptionContext, error) {
	api := client.VmV1alpha1()
	vcenters, err := api.VCenters().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing VCenters: %s", cli.Reason(err))
	}
	zones, err := api.Zones().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing Zones: %s", cli.Reason(err))
	}
	vms, err := api.VirtualMachines(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing virtual machines: %s", cli.Reason(err))
	}
	c := &adoptionContext{vcenters: vcenters.Items, zones: zones.Items, taken: map[string]string{}}
	for i := range vms.Items {
		c.taken[vms.Items[i].Name] = vms.Items[i].Spec.InstanceUUID
	}
	return c, nil
}

// skippedMachine is a VM that is not adopted.
type skippedMachine struct{ path, why string }

// candidates describes the VMs that can be adopted, and returns why the others cannot.
func (c *adoptionContext) candidates(found *foreign.Inventory, namespace string) (all []*foreign.Candidate, skipped []skippedMachine, err error) {
	vcenter, err := foreign.VCenterOf(found.InstanceUUID, c.vcenters, c.zones)
	if err != nil {
		return nil, nil, err
	}
	var machines []*foreign.Machine
	var places []foreign.Place
	twins := foreign.Twins(found.Machines)
	for _, m := range found.Machines {
		why := foreign.Skip(m)
		if owner, owned := foreign.OwnerOf(m); owned && c.orphaned[owner] {
			why = foreign.Orphaned(owner)
		}
		if why == "" {
			why = twins[m]
		}
		var place foreign.Place
		if why == "" {
			if place, err = foreign.PlaceOf(m, vcenter, c.zones); err != nil {
				why = err.Error()
			}
		}
		if why != "" {
			skipped = append(skipped, skippedMachine{cli.Printable(m.Path), cli.Printable(why)})
			continue
		}
		machines, places = append(machines, m), append(places, place)
	}
	names, notes := foreign.Names(machines, c.takenByOthers(machines))
	for i, m := range machines {
		candidate := foreign.Describe(m, namespace, names[i], places[i])
		if note := notes[m]; note != "" {
			candidate.Notes = append([]string{note}, candidate.Notes...)
		}
		all = append(all, candidate)
	}
	return all, skipped, nil
}

// takenByOthers returns the object names in use, except those of objects that already adopt one of the machines. A
// repeated command therefore chooses the same names.
func (c *adoptionContext) takenByOthers(machines []*foreign.Machine) map[string]bool {
	own := map[string]bool{}
	for _, m := range machines {
		own[lowerUUID(m.VM.Config.InstanceUuid)] = true
	}
	out := map[string]bool{}
	for name, uuid := range c.taken {
		if uuid == "" || !own[lowerUUID(uuid)] {
			out[name] = true
		}
	}
	return out
}
