// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/create"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/image"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/power"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

const (
	// defaultTryTimeout is enough to copy an image of some GiB to a datastore.
	defaultTryTimeout = 15 * time.Minute
	// tryPrefix is the name prefix of the virtual machines that check creates. tryLabel and tryValue select those
	// that were left behind.
	tryPrefix          = "virtctl-check-"
	tryLabel, tryValue = "app.kubernetes.io/managed-by", "virtctl-check"
	// tryMemory is enough for most guests. A VM that is powered off does not use it.
	tryMemory = "1Gi"
)

// tryFlags describe the virtual machine that is created and deleted.
type tryFlags struct {
	on, powerOn bool
	vm          create.VMFlags
	zone        string
	timeout     time.Duration
}

func (o *tryFlags) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.on, "try", false, "Create a virtual machine in the namespace, powered off, and delete it")
	flags.BoolVar(&o.powerOn, "power-on", false, "With --try: also power it on, without waiting for its guest")
	flags.StringVar(&o.vm.Image, "image", "", "With --try: image as [KIND/]NAME (default: the ready image with the smallest disks)")
	flags.StringVar(&o.vm.Instancetype, "instancetype", "", "With --try: instance type as [KIND/]NAME (default: 1 vCPU and "+tryMemory+")")
	flags.StringVar(&o.vm.Class, "class", "", "With --try: VirtualMachineClass to use instead of an instance type")
	flags.StringVar(&o.vm.Preference, "preference", "", "With --try: preference as [KIND/]NAME")
	flags.StringVar(&o.vm.StorageClass, "storage-class", "", "With --try: storage class")
	flags.StringVar(&o.vm.Network, "network", "", "With --try: network of the interface eth0 (default: the server's)")
	flags.StringVar(&o.zone, "zone", "", "With --try: zone (default: chosen by the server)")
	flags.DurationVar(&o.timeout, "timeout", defaultTryTimeout, "With --try: how long to wait for the creation and again for the deletion")
}

// validate rejects invalid combinations before any request.
func (o *tryFlags) validate(flags *pflag.FlagSet) error {
	if o.on {
		if o.timeout <= 0 {
			return fmt.Errorf("--timeout %s: must be more than 0s", o.timeout)
		}
		if o.vm.Class != "" && o.vm.Instancetype != "" {
			return errors.New("--class and --instancetype are mutually exclusive")
		}
		return nil
	}
	for _, name := range []string{"power-on", "image", "instancetype", "class", "preference", "storage-class", "network", "zone", "timeout"} {
		if flags.Changed(name) {
			return fmt.Errorf("--%s requires --try", name)
		}
	}
	return nil
}

// machine returns the virtual machine to create.
func (o *tryFlags) machine() (*vmv1alpha1.VirtualMachine, error) {
	flags := o.vm
	flags.Name = tryPrefix + rand.String(8)
	if flags.Instancetype == "" && flags.Class == "" {
		flags.CPU, flags.Memory = 1, tryMemory
	}
	flags.PowerState = string(vmv1alpha1.PoweredOff)
	if o.powerOn {
		flags.PowerState = string(vmv1alpha1.PoweredOn)
	}
	vm, err := flags.Object()
	if err != nil {
		return nil, err
	}
	vm.Labels = map[string]string{tryLabel: tryValue}
	vm.Spec.Zone = o.zone
	vm.Spec.PowerOffMode = vmv1alpha1.PowerOpModeHard // the guest has no data to lose
	return vm, nil
}

// smallestImage returns the usable image with the smallest disks, or nil.
func smallestImage(images []*vmv1alpha1.VirtualMachineImage) *vmv1alpha1.VirtualMachineImage {
	size := func(i *vmv1alpha1.VirtualMachineImage) (bytes int64, known bool) {
		for _, d := range i.Status.Disks {
			if d.Capacity == nil {
				return 0, false
			}
			bytes += d.Capacity.Value()
		}
		return bytes, len(i.Status.Disks) > 0
	}
	var best *vmv1alpha1.VirtualMachineImage
	for _, i := range images {
		if i.Status.Readiness() != string(metav1.ConditionTrue) || i.Status.Type == vmv1alpha1.ImageTypeISO {
			continue
		}
		if best == nil {
			best = i
			continue
		}
		bytes, known := size(i)
		least, sure := size(best)
		if known && (!sure || bytes < least) {
			best = i
		}
	}
	return best
}

// chooseImage chooses an image if the flags do not specify one.
func (o *tryFlags) chooseImage(ctx context.Context, client versioned.Interface, namespace string) error {
	if o.vm.Image != "" {
		return nil
	}
	images, err := image.ListImages(ctx, client, namespace)
	if err != nil {
		return err
	}
	i := smallestImage(images)
	if i == nil {
		return fmt.Errorf("namespace %s and the cluster have no ready image (%d exist): create one (docs/how-to/offer-an-image.md) or specify one with --image", namespace, len(images))
	}
	o.vm.Image = image.KindOfImage(i) + "/" + i.Name
	return nil
}

// tryMachine creates and deletes a virtual machine. A failure is a finding.
func (c *check) tryMachine(ctx context.Context) error {
	if !c.served {
		c.lacks("--try skipped: Slipway is not installed or not available")
		return nil
	}
	client, namespace, err := c.f.Client()
	if err != nil {
		return err
	}
	for _, verb := range []string{"create", "get", "delete"} {
		may, err := c.may(ctx, authorizationv1.ResourceAttributes{Group: vmv1alpha1.SchemeGroupVersion.Group, Resource: "virtualmachines", Namespace: namespace, Verb: verb})
		if err != nil {
			return err
		}
		if !may {
			c.lacks("--try skipped: you have no permission to %s virtualmachines in namespace %s", verb, namespace)
			return nil
		}
	}
	// Without permission to read the namespace, the dry run reports whether it exists.
	if _, err := c.host.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		c.lacks("--try skipped: namespace %s not found", namespace)
		return nil
	}
	if err := c.try.chooseImage(ctx, client, namespace); err != nil {
		c.lacks("--try skipped: %v", err)
		return nil
	}
	vm, err := c.try.machine()
	if err != nil {
		return err
	}
	t := &trial{check: c, vms: client.VmV1alpha1().VirtualMachines(namespace), vm: vm, what: "virtualmachine " + namespace + "/" + vm.Name}
	if _, err := t.vms.Create(ctx, vm.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		c.lacks("a virtual machine in namespace %s is refused: %s", namespace, cli.Reason(err))
		return nil
	}
	c.ok("a virtual machine of image %s, with %s, is accepted in namespace %s (server dry run)", c.try.vm.Image, c.try.size(), namespace)
	t.run(ctx)
	return nil
}

// size returns the virtual machine's size for display.
func (o *tryFlags) size() string {
	switch {
	case o.vm.Instancetype != "":
		return "instance type " + o.vm.Instancetype
	case o.vm.Class != "":
		return "class " + o.vm.Class
	}
	return "1 vCPU and " + tryMemory
}

// steps returns the time after which each step was done, from the conditions.
func steps(vm *vmv1alpha1.VirtualMachine) string {
	type step struct {
		done  string
		after time.Duration
	}
	var all []step
	for _, s := range [][2]string{
		{vmv1alpha1.ConditionPlacementReady, "placed"}, {vmv1alpha1.ConditionCreated, "created in vSphere"},
		{vmv1alpha1.ConditionConfigurationSynced, "configured"}, {vmv1alpha1.ConditionPowerStateSynced, cmp.Or(string(vm.Status.PowerState), "in its power state")},
	} {
		if c := power.Current(vm.Status.Conditions, 0, s[0]); c != nil && c.Status == metav1.ConditionTrue {
			all = append(all, step{s[1], max(c.LastTransitionTime.Sub(vm.CreationTimestamp.Time), 0)})
		}
	}
	slices.SortStableFunc(all, func(a, b step) int { return cmp.Compare(a.after, b.after) })
	texts := make([]string, 0, len(all))
	for _, s := range all {
		texts = append(texts, fmt.Sprintf("%s after %s", s.done, s.after))
	}
	return strings.Join(texts, ", ")
}
