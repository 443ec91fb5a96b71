// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/crypto"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
)

// store finds out where the files of a virtual machine go and how they are kept, and where
// the media for its drives are.
func (r *Resolver) store(ctx context.Context, w *driver.Want, rep *Report) error {
	var err error
	rep.Datastore, rep.Storage, err = r.keep(ctx, w)
	var discErr error
	rep.ISOs, discErr = r.discs(ctx, w)
	return errors.Join(err, discErr)
}

// keep resolves the classes of a virtual machine and chooses its datastore. One without
// classes in a zone without a policy costs no more than the datastore.
func (r *Resolver) keep(ctx context.Context, w *driver.Want) (types.ManagedObjectReference, storage.Known, error) {
	classes := r.classesOf(w)
	if len(classes) == 0 {
		ref, err := r.Datastore(ctx)
		return ref, storage.Known{}, err
	}
	known := storage.Known{Policies: make(map[string]storage.Policy, len(classes))}
	var failures []error
	encrypted := ""
	for _, class := range classes {
		p, err := r.policy(ctx, class, w)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		known.Policies[class] = p
		if p.Encrypted {
			encrypted = p.Name
		}
	}
	if encrypted != "" {
		var err error
		if known.KeyProvider, err = r.KeyProvider(ctx); err != nil {
			failures = append(failures, err)
		} else if known.KeyProvider == "" {
			r.keyProviders.clear() // It may be there by the next look.
			failures = append(failures, &NotUsableError{Missing: true, Message: fmt.Sprintf("storage policy %q encrypts, and vCenter has no default key provider", encrypted)})
		}
	}
	if err := errors.Join(failures...); err != nil {
		return types.ManagedObjectReference{}, known, err
	}
	all, err := r.allStores(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, known, err
	}
	home, problems := storage.Choose(NeedsOf(w), known.Policies, all)
	if len(problems) > 0 {
		r.policies.clear() // A datastore may be compatible by the next look.
		return types.ManagedObjectReference{}, known, &NotUsableError{Message: strings.Join(problems, "; ")}
	}
	return types.ManagedObjectReference{Type: "Datastore", Value: home.ID}, known, nil
}

// NeedsOf is what a new virtual machine needs of datastores.
func NeedsOf(w *driver.Want) []storage.Need {
	image := int64(0)
	if w.Image != nil {
		if disk := w.Image.Status.BootDisk(); disk != nil {
			image = disk.Value()
		}
	}
	return storage.NeedsOf(w.Effective, image)
}

// classesOf are the classes that have to be resolved; the empty one is the default of the
// zone, which counts if there is one, or if something has a class or takes space at once.
func (r *Resolver) classesOf(w *driver.Want) []string {
	classes := storage.Classes(w.Effective)
	counts := r.site.policy != "" || len(classes) > 0 || slices.ContainsFunc(NeedsOf(w), func(n storage.Need) bool { return n.Bytes > 0 })
	if counts && (w.Effective == nil || w.Effective.StorageClass == "") {
		classes = append(classes, "")
	}
	return classes
}

// classHere is what a class is in the zone.
type classHere struct {
	policy, url string
	datastores  []string
}

// key identifies it in what is remembered.
func (c *classHere) key() string {
	return strings.Join(append([]string{c.policy, c.url}, c.datastores...), "\x00")
}

// class says what a class is in the zone.
func (r *Resolver) class(name string, w *driver.Want) (classHere, error) {
	here := classHere{policy: r.site.policy, datastores: r.site.datastores}
	if name == "" {
		return here, nil
	}
	of, told := w.StorageClasses[name]
	at := slices.IndexFunc(r.site.classes, func(c vmv1alpha1.ZoneStorageClass) bool { return c.Name == name })
	overrides := at >= 0 && r.site.classes[at].Policy != ""
	switch {
	case !told:
		return here, fmt.Errorf("StorageClass %q: it was not read", name)
	case of.Problem != nil && (of.Problem.Missing || !overrides):
		return here, of.Problem
	}
	here.policy, here.url = of.Policy, of.DatastoreURL
	if overrides {
		here.policy, here.url = r.site.classes[at].Policy, ""
	}
	if at >= 0 && len(r.site.classes[at].Datastores) > 0 {
		here.datastores = r.site.classes[at].Datastores
	}
	return here, nil
}

// policy resolves a class.
func (r *Resolver) policy(ctx context.Context, class string, w *driver.Want) (storage.Policy, error) {
	here, err := r.class(class, w)
	if err == nil && class == "" && here.policy == "" {
		_, err = r.allDatastores(ctx) // Of several that nobody names none is meant.
	}
	if err != nil {
		return storage.Policy{}, err
	}
	return r.policies.get(ctx, here.key(), func(ctx context.Context) (storage.Policy, error) {
		p := storage.Policy{Name: here.policy}
		all, err := r.allStores(ctx)
		if err != nil {
			return p, err
		}
		if here.policy != "" {
			if err := r.profile(ctx, class, all, &p); err != nil {
				return p, err
			}
		}
		if here.url != "" || len(here.datastores) > 0 {
			p.Datastores = []string{}
			for _, d := range all {
				if (here.url == "" || d.URL == here.url) && (len(here.datastores) == 0 || named(here.datastores, d.Name)) {
					p.Datastores = append(p.Datastores, d.Name)
				}
			}
		}
		p.Datastores = storage.Usable(p, all)
		return p, nil
	})
}

// named reports whether a datastore is among names, which may be inventory paths.
func named(names []string, datastore string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return n == datastore || strings.HasSuffix(n, "/"+datastore) })
}

// KnownStorage is what was found out before about the storage of a virtual machine.
func (r *Resolver) KnownStorage(w *driver.Want) storage.Known {
	known := storage.Known{}
	for _, class := range r.classesOf(w) {
		here, err := r.class(class, w)
		if err != nil {
			continue
		}
		if p, ok := r.policies.known(here.key()); ok {
			if known.Policies == nil {
				known.Policies = map[string]storage.Policy{}
			}
			known.Policies[class] = p
		}
	}
	known.KeyProvider, _ = r.keyProviders.known("")
	return known
}

// StorageKnown reports whether all classes and media of a virtual machine that is there
// were found before. What names no class needs none: it stays as it was made.
func (r *Resolver) StorageKnown(w *driver.Want) bool {
	known := r.KnownStorage(w).Policies
	for _, class := range storage.Classes(w.Effective) {
		if _, ok := known[class]; !ok {
			return false
		}
	}
	return len(r.KnownISOs(w)) == discsOf(w)
}

// KeyProvider is vCenter's default one, empty for none.
func (r *Resolver) KeyProvider(ctx context.Context) (string, error) {
	return r.keyProviders.get(ctx, "", func(ctx context.Context) (string, error) {
		c, err := r.opts.Session.Vim(ctx)
		if err != nil {
			return "", err
		}
		if c.ServiceContent.CryptoManager == nil {
			return "", nil
		}
		// All are listed: that there is no default one is an answer of other calls that
		// cannot be told from errors.
		all, err := crypto.NewManagerKmip(c).ListKmipServers(ctx, nil)
		if err != nil {
			return "", fmt.Errorf("listing the key providers: %w", err)
		}
		for _, p := range all {
			if p.UseAsDefault {
				return p.ClusterId.Id, nil
			}
		}
		return "", nil
	})
}

// allStores are the datastores of the zone, and without those those that its hosts see.
func (r *Resolver) allStores(ctx context.Context) ([]storage.Datastore, error) {
	return r.stores.get(ctx, "", func(ctx context.Context) ([]storage.Datastore, error) {
		refs, err := r.storeRefs(ctx)
		if err != nil {
			return nil, err
		}
		var all []mo.Datastore
		if err := r.retrieve(ctx, "the datastores", refs, []string{"summary"}, &all); err != nil {
			return nil, err
		}
		out := make([]storage.Datastore, 0, len(all))
		for i := range all {
			s := &all[i].Summary
			d := storage.Datastore{Name: s.Name, ID: all[i].Self.Value, URL: s.Url, Free: s.FreeSpace}
			switch {
			case !s.Accessible:
				d.Unusable = "it is not accessible"
			case s.MaintenanceMode != "" && s.MaintenanceMode != string(types.DatastoreSummaryMaintenanceModeStateNormal):
				d.Unusable = "it is in maintenance mode"
			}
			out = append(out, d)
		}
		return out, nil
	})
}

// storeRefs are all datastores that something of the zone may be on: those that it names,
// for itself or for a class, or those that its hosts see.
func (r *Resolver) storeRefs(ctx context.Context) ([]types.ManagedObjectReference, error) {
	seen, err := r.seenDatastores(ctx)
	if err != nil || len(r.site.datastores) == 0 {
		return seen, err
	}
	own, err := r.allDatastores(ctx)
	if err != nil {
		return nil, err
	}
	for _, ref := range seen {
		if !slices.Contains(own, ref) && slices.ContainsFunc(r.site.classes, func(c vmv1alpha1.ZoneStorageClass) bool { return len(c.Datastores) > 0 }) {
			own = append(own, ref)
		}
	}
	return own, nil
}
