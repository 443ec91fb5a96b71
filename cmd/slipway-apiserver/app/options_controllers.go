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
	// ReferencePolicyReference leaves references in spec unchanged.
	ReferencePolicyReference = "Reference"
	// ReferencePolicyExpand replaces references by their content unless they pin a revision.
	ReferencePolicyExpand = "Expand"
	// ReferencePolicyExpandAll replaces all references.
	ReferencePolicyExpandAll = "ExpandAll"
)

// ControllerOptions configures the controllers.
type ControllerOptions struct {
	// Workers is the number of virtual machines reconciled at the same time.
	Workers int
	// ConcurrentCreates, ConcurrentReconfigurations, ConcurrentPowerChanges and ConcurrentDeletes limit the number
	// of concurrent vSphere operations of each kind.
	ConcurrentCreates, ConcurrentReconfigurations, ConcurrentPowerChanges, ConcurrentDeletes, ConcurrentPublishes int
	// LeaderElect makes the controllers wait for Leases.
	LeaderElect bool
	// LeaderElectNamespace is the namespace of the Leases and of the ConfigMap that identifies the store.
	LeaderElectNamespace string
	// ResyncPeriod is the time after which every virtual machine is reconciled again.
	ResyncPeriod time.Duration
	// InstancetypeReferencePolicy is Reference, Expand or ExpandAll.
	InstancetypeReferencePolicy string
	// QueueAging is how long low priorities may be starved before a share of the queue is guaranteed to them. 0
	// keeps the order strict.
	QueueAging time.Duration
	// QueueFairness alternates between namespaces within a priority.
	QueueFairness bool
	// FastDeploy is how disks are created from images of content libraries: off, direct or linked.
	FastDeploy string
	// ConcurrentImageCopies is the number of images copied to datastores at the same time in each vCenter.
	ConcurrentImageCopies int
	// ImageCacheMaxAge is how long unused image copies are kept. 0 keeps them without limit.
	ImageCacheMaxAge time.Duration
	// ImageCacheMinFree is the percentage of a datastore with image copies that must remain free.
	ImageCacheMinFree int
	// BlockingOperations makes workers wait for vSphere operations.
	BlockingOperations bool
}

// Defaults of the controllers.
const (
	defaultWorkers           = 16
	defaultConcurrentCreates = 12
	defaultConcurrentOthers  = 32
	// defaultConcurrentPublishes is small because each publication reads all disks of a virtual machine.
	defaultConcurrentPublishes = 4
	defaultResync              = 10 * time.Minute
	defaultAging               = 2 * time.Second
	defaultNamespace           = "slipway-system"
	// defaultImageCopies leaves capacity for deployments on hosts, which run up to 8 copies at the same time.
	defaultImageCopies = 4
	defaultImageMaxAge = 30 * 24 * time.Hour
	// defaultImageMinFree is below the 20 % at which vCenter's default alarm "Datastore usage on disk" warns (75 %
	// and 85 % used).
	defaultImageMinFree = 10
)

// Upper bounds of numbers.
const (
	maxWorkers = 1024
	// maxConcurrent is far above the number of tasks that one vCenter runs at the same time. vCenter queues the
	// rest, where more urgent work cannot overtake them.
	maxConcurrent = 256
	// maxMinFree is the largest percentage that --image-cache-min-free accepts.
	maxMinFree = 90
)

// between returns an error unless value is at least 1 and at most upper.
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
	fs.IntVar(&o.Workers, "controllers-workers", o.Workers, "Maximum number of concurrent VirtualMachine reconciles.")
	fs.IntVar(&o.ConcurrentCreates, "concurrent-creates", o.ConcurrentCreates, "Maximum number of concurrent VM creations in vSphere.")
	fs.IntVar(&o.ConcurrentReconfigurations, "concurrent-reconfigurations", o.ConcurrentReconfigurations, "Maximum number of concurrent VM reconfigurations in vSphere.")
	fs.IntVar(&o.ConcurrentPowerChanges, "concurrent-power-changes", o.ConcurrentPowerChanges, "Maximum number of concurrent power operations in vSphere.")
	fs.IntVar(&o.ConcurrentDeletes, "concurrent-deletes", o.ConcurrentDeletes, "Maximum number of concurrent VM deletions in vSphere.")
	fs.IntVar(&o.ConcurrentPublishes, "concurrent-publishes", o.ConcurrentPublishes, "Maximum number of concurrent publications to content libraries per vCenter.")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "Run controllers only while holding Leases in the management cluster, one per vCenter. Required with more than one replica.")
	fs.StringVar(&o.LeaderElectNamespace, "leader-elect-namespace", o.LeaderElectNamespace, "Namespace of the Leases and of the ConfigMap slipway-store, which identifies the store.")
	fs.DurationVar(&o.ResyncPeriod, "resync-period", o.ResyncPeriod, "Interval at which every virtual machine is reconciled again, at the lowest priority.")
	fs.StringVar(&o.InstancetypeReferencePolicy, "instancetype-reference-policy", o.InstancetypeReferencePolicy,
		"Handling of instance type and preference references: Reference keeps, Expand inlines those without a revision, ExpandAll inlines all.")
	fs.DurationVar(&o.QueueAging, "queue-aging", o.QueueAging, "How long a priority below 100 may be starved before it gets one of every 16 queue slots. 0 keeps the order strict.")
	fs.BoolVar(&o.QueueFairness, "queue-fairness", o.QueueFairness, "Alternate between namespaces within a priority.")
	fs.StringVar(&o.FastDeploy, "fast-deploy", o.FastDeploy,
		"How disks are created from OVF library images: off (vSphere deploys), direct (copied from the datastore cache) or linked (linked to the cache). "+
			"Annotation "+vmv1alpha1.AnnotationFastDeploy+" overrides it.")
	fs.IntVar(&o.ConcurrentImageCopies, "concurrent-image-copies", o.ConcurrentImageCopies, "Maximum number of concurrent image copies to datastores per vCenter.")
	fs.DurationVar(&o.ImageCacheMaxAge, "image-cache-max-age", o.ImageCacheMaxAge, "How long unused image copies are kept on datastores. 0 keeps them without limit.")
	fs.IntVar(&o.ImageCacheMinFree, "image-cache-min-free", o.ImageCacheMinFree, "Percentage of a datastore to keep free by deleting the least recently used image copies. 0 disables this.")
	fs.BoolVar(&o.BlockingOperations, "blocking-operations", o.BlockingOperations,
		"Make workers wait for vSphere operations, which limits these to --controllers-workers. By default operations run asynchronously.")
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
