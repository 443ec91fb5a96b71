// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Values of --instancetype-reference-policy.
const (
	// ReferencePolicyReference keeps references in spec.
	ReferencePolicyReference = "Reference"
	// ReferencePolicyExpand replaces them by what they say, unless they pin a revision.
	ReferencePolicyExpand = "Expand"
	// ReferencePolicyExpandAll replaces all of them.
	ReferencePolicyExpandAll = "ExpandAll"
)

// ControllerOptions say how the controllers run.
type ControllerOptions struct {
	// Workers is the number of virtual machines reconciled at the same time.
	Workers int
	// ConcurrentCreates, ConcurrentReconfigurations, ConcurrentPowerChanges and
	// ConcurrentDeletes are the numbers of operations of a kind that run in vSphere at the
	// same time.
	ConcurrentCreates, ConcurrentReconfigurations, ConcurrentPowerChanges, ConcurrentDeletes, ConcurrentPublishes int
	// LeaderElect makes the controllers wait for Leases.
	LeaderElect bool
	// LeaderElectNamespace is where the Leases are, and what is known of the store.
	LeaderElectNamespace string
	// ResyncPeriod is the time after which everything is looked at again.
	ResyncPeriod time.Duration
	// InstancetypeReferencePolicy is Reference, Expand or ExpandAll.
	InstancetypeReferencePolicy string
	// QueueAging is how long the default priorities may get nothing before a share of
	// the queue is guaranteed to them. 0 keeps the order strict.
	QueueAging time.Duration
	// QueueFairness takes turns between namespaces within a priority.
	QueueFairness bool
	// FastDeploy is how the disks of virtual machines are made from images of content
	// libraries: off, direct or linked.
	FastDeploy string
	// ConcurrentImageCopies is the number of images that are copied to datastores at the same
	// time in each vCenter.
	ConcurrentImageCopies int
	// ImageCacheMaxAge is how long copies of images are kept that are not used; 0 is for ever.
	ImageCacheMaxAge time.Duration
	// ImageCacheMinFree is what is to be free of a datastore that has copies, in percent.
	ImageCacheMinFree int
	// BlockingOperations makes workers wait for vSphere.
	BlockingOperations bool
}

// Defaults of the controllers.
const (
	defaultWorkers           = 16
	defaultConcurrentCreates = 12
	defaultConcurrentOthers  = 32
	// defaultConcurrentPublishes is small: each reads all disks of a virtual machine.
	defaultConcurrentPublishes = 4
	defaultResync              = 10 * time.Minute
	defaultAging               = 2 * time.Second
	defaultNamespace           = "slipway-system"
	// defaultImageCopies leaves room on hosts, which do 8 copies at the same time, for
	// deployments.
	defaultImageCopies = 4
	defaultImageMaxAge = 30 * 24 * time.Hour
	// defaultImageMinFree is below the 20 % at which vCenter warns of a datastore that fills up
	// by default (alarm "Datastore usage on disk": 75 % and 85 %).
	defaultImageMinFree = 10
)

// Upper bounds of numbers.
const (
	maxWorkers = 1024
	// maxConcurrent is far above what one vCenter works on at once; the rest waits there
	// as tasks, where nothing of it can be put off for what is more urgent.
	maxConcurrent = 256
	// maxMinFree is where nothing but images is left to be on a datastore.
	maxMinFree = 90
)

// between is an error unless value is at least 1 and at most upper.
func between(flag string, value, upper int) error {
	if value < 1 || value > upper {
		return fmt.Errorf("--%s %d: must be at least 1 and at most %d", flag, value, upper)
	}
	return nil
}

func newControllerOptions() ControllerOptions {
	return ControllerOptions{
		Workers: defaultWorkers, ConcurrentCreates: defaultConcurrentCreates,
		ConcurrentReconfigurations: defaultConcurrentOthers, ConcurrentPowerChanges: defaultConcurrentOthers, ConcurrentDeletes: defaultConcurrentOthers,
		ConcurrentPublishes: defaultConcurrentPublishes,
		LeaderElect:         true, LeaderElectNamespace: defaultNamespace,
		ResyncPeriod: defaultResync, InstancetypeReferencePolicy: ReferencePolicyReference,
		QueueAging: defaultAging, QueueFairness: true,
		ConcurrentImageCopies: defaultImageCopies, ImageCacheMaxAge: defaultImageMaxAge, ImageCacheMinFree: defaultImageMinFree, FastDeploy: string(vmv1alpha1.FastDeployOff),
	}
}

func (o *ControllerOptions) addFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.Workers, "controllers-workers", o.Workers, "Number of virtual machines reconciled at the same time.")
	fs.IntVar(&o.ConcurrentCreates, "concurrent-creates", o.ConcurrentCreates, "Number of virtual machines created in vSphere at the same time.")
	fs.IntVar(&o.ConcurrentReconfigurations, "concurrent-reconfigurations", o.ConcurrentReconfigurations, "Number of virtual machines reconfigured in vSphere at the same time.")
	fs.IntVar(&o.ConcurrentPowerChanges, "concurrent-power-changes", o.ConcurrentPowerChanges, "Number of virtual machines powered on, off, suspended or restarted in vSphere at the same time.")
	fs.IntVar(&o.ConcurrentDeletes, "concurrent-deletes", o.ConcurrentDeletes, "Number of virtual machines deleted in vSphere at the same time.")
	fs.IntVar(&o.ConcurrentPublishes, "concurrent-publishes", o.ConcurrentPublishes, "Number of virtual machines published in content libraries at the same time, in one vCenter.")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "Act only while holding Leases in the host cluster, one for each vCenter, and pause while they are not renewed. Needed with more than one replica.")
	fs.StringVar(&o.LeaderElectNamespace, "leader-elect-namespace", o.LeaderElectNamespace, "Namespace of the Leases, and of the ConfigMap slipway-store, which tells the store from others.")
	fs.DurationVar(&o.ResyncPeriod, "resync-period", o.ResyncPeriod, "Time after which every virtual machine is looked at again, at the lowest priority.")
	fs.StringVar(&o.InstancetypeReferencePolicy, "instancetype-reference-policy", o.InstancetypeReferencePolicy,
		"What becomes of references to instance types and preferences: Reference keeps them, Expand replaces those without a revision by what they say, ExpandAll replaces all.")
	fs.DurationVar(&o.QueueAging, "queue-aging", o.QueueAging, "How long a priority below 100 may get nothing before it is guaranteed one in 16 of the virtual machines taken from the queue. 0 keeps the order strict.")
	fs.BoolVar(&o.QueueFairness, "queue-fairness", o.QueueFairness, "Let namespaces take turns within a priority.")
	fs.StringVar(&o.FastDeploy, "fast-deploy", o.FastDeploy,
		"How the disks of virtual machines are made from OVF images of content libraries: off lets vSphere deploy the item, direct copies its files from a copy on the datastore, linked makes disks that hold only what differs from that copy. "+
			"Annotation "+vmv1alpha1.AnnotationFastDeploy+" of a virtual machine or of its class counts before.")
	fs.IntVar(&o.ConcurrentImageCopies, "concurrent-image-copies", o.ConcurrentImageCopies, "Number of images copied to datastores at the same time in each vCenter.")
	fs.DurationVar(&o.ImageCacheMaxAge, "image-cache-max-age", o.ImageCacheMaxAge, "How long copies of images that the server has made for virtual machines are kept on datastores after their last use. 0 keeps them for ever.")
	fs.IntVar(&o.ImageCacheMinFree, "image-cache-min-free", o.ImageCacheMinFree, "Percentage of a datastore that is to be free. While less is, copies of images go that were not used for the longest time. 0 lets datastores fill up.")
	fs.BoolVar(&o.BlockingOperations, "blocking-operations", o.BlockingOperations,
		"Let workers wait for what vSphere does, so that no more of it is done at once than --controllers-workers. By default it is done off the workers.")
}

func (o *ControllerOptions) validate() []error {
	var errs []error
	for _, n := range []struct {
		flag       string
		value, max int
	}{
		{"controllers-workers", o.Workers, maxWorkers},
		{"concurrent-creates", o.ConcurrentCreates, maxConcurrent},
		{"concurrent-reconfigurations", o.ConcurrentReconfigurations, maxConcurrent},
		{"concurrent-power-changes", o.ConcurrentPowerChanges, maxConcurrent},
		{"concurrent-deletes", o.ConcurrentDeletes, maxConcurrent},
		{"concurrent-publishes", o.ConcurrentPublishes, maxConcurrent},
		{"concurrent-image-copies", o.ConcurrentImageCopies, maxConcurrent},
	} {
		if err := between(n.flag, n.value, n.max); err != nil {
			errs = append(errs, err)
		}
	}
	if o.LeaderElectNamespace == "" {
		errs = append(errs, errors.New("--leader-elect-namespace must not be empty"))
	}
	if o.ResyncPeriod < minResync {
		errs = append(errs, fmt.Errorf("--resync-period %s: must be at least %s", o.ResyncPeriod, minResync))
	}
	if o.ImageCacheMaxAge < 0 {
		errs = append(errs, fmt.Errorf("--image-cache-max-age %s: must not be negative", o.ImageCacheMaxAge))
	}
	if o.ImageCacheMinFree < 0 || o.ImageCacheMinFree > maxMinFree {
		errs = append(errs, fmt.Errorf("--image-cache-min-free %d: must be at least 0 and at most %d", o.ImageCacheMinFree, maxMinFree))
	}
	if o.QueueAging < 0 {
		errs = append(errs, fmt.Errorf("--queue-aging %s: must not be negative", o.QueueAging))
	}
	if !slices.Contains(vmv1alpha1.FastDeployModes, vmv1alpha1.FastDeployMode(o.FastDeploy)) {
		errs = append(errs, fmt.Errorf("--fast-deploy %q: must be one of off, direct, linked", o.FastDeploy))
	}
	policies := []string{ReferencePolicyReference, ReferencePolicyExpand, ReferencePolicyExpandAll}
	if !slices.Contains(policies, o.InstancetypeReferencePolicy) {
		errs = append(errs, fmt.Errorf("--instancetype-reference-policy %q: must be one of %s", o.InstancetypeReferencePolicy, strings.Join(policies, ", ")))
	}
	return errs
}
