// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/crypto"
	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
)

// classes resolves the StorageClasses of virtual machines to storage policies and chooses a datastore for them.
type classes struct {
	*lookup
	datastores *datastores
	capacity   *capacity
	// policies are keyed by class. profiles are the IDs of storage policies by name.
	policies cache[storage.Policy]
	profiles cache[map[string]string]
	// keyProviders contains the default key provider.
	keyProviders cache[string]
}

// resolveClasses resolves the classes of a virtual machine and chooses its datastore. Without classes and a zone
// policy, it only resolves the datastore.
func (cl *classes) resolveClasses(ctx context.Context, w *driver.Desired) (types.ManagedObjectReference, storage.Resolved, error) {
	classes := cl.classesOf(w)
	if len(classes) == 0 {
		ref, err := cl.capacity.Datastore(ctx)
		return ref, storage.Resolved{}, err
	}
	known := storage.Resolved{Policies: make(map[string]storage.Policy, len(classes))}
	var failures []error
	encrypted := ""
	for _, class := range classes {
		p, err := cl.policy(ctx, class, w)
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
		if known.KeyProvider, err = cl.KeyProvider(ctx); err != nil {
			failures = append(failures, err)
		} else if known.KeyProvider == "" {
			cl.keyProviders.clear() // The key provider may exist at the next lookup.
			failures = append(failures, &NotUsableError{Missing: true, Message: fmt.Sprintf("storage policy %q requires encryption, but vCenter has no default key provider", encrypted)})
		}
	}
	if err := errors.Join(failures...); err != nil {
		return types.ManagedObjectReference{}, known, err
	}
	all, err := cl.datastores.allStores(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, known, err
	}
	home, problems := storage.Choose(NeedsOf(w), known.Policies, all)
	if len(problems) > 0 {
		cl.policies.clear() // A datastore may be compatible at the next lookup.
		return types.ManagedObjectReference{}, known, &NotUsableError{Message: strings.Join(problems, "; ")}
	}
	return types.ManagedObjectReference{Type: "Datastore", Value: home.ID}, known, nil
}

// NeedsOf returns the storage needs of a new virtual machine.
func NeedsOf(w *driver.Desired) []storage.Need {
	image := int64(0)
	if w.Image != nil {
		if disk := w.Image.Status.BootDiskCapacity(); disk != nil {
			image = disk.Value()
		}
	}
	return storage.NeedsOf(w.Effective, image)
}

// classesOf returns the classes to resolve. The empty class is the zone's default. It is resolved if the zone has
// one, or if any part has a class or allocates space immediately.
func (cl *classes) classesOf(w *driver.Desired) []string {
	classes := storage.Classes(w.Effective)
	counts := cl.site.policy != "" || len(classes) > 0 || slices.ContainsFunc(NeedsOf(w), func(n storage.Need) bool { return n.Bytes > 0 })
	if counts && (w.Effective == nil || w.Effective.StorageClass == "") {
		classes = append(classes, "")
	}
	return classes
}

// zoneClass is the configuration of a class in the zone.
type zoneClass struct {
	policy, url string
	datastores  []string
}

// key returns the cache key.
func (c *zoneClass) key() string {
	return strings.Join(append([]string{c.policy, c.url}, c.datastores...), "\x00")
}

// class returns the configuration of a class in the zone.
func (cl *classes) class(name string, w *driver.Desired) (zoneClass, error) {
	zc := zoneClass{policy: cl.site.policy, datastores: cl.site.datastores}
	if name == "" {
		return zc, nil
	}
	of, known := w.StorageClasses[name]
	at := slices.IndexFunc(cl.site.classes, func(c vmv1alpha1.ZoneStorageClass) bool { return c.Name == name })
	overrides := at >= 0 && cl.site.classes[at].Policy != ""
	switch {
	case !known:
		return zc, fmt.Errorf("StorageClass %q has not been read", name)
	case of.Problem != nil && (of.Problem.Missing || !overrides):
		return zc, of.Problem
	}
	zc.policy, zc.url = of.Policy, of.DatastoreURL
	if overrides {
		zc.policy, zc.url = cl.site.classes[at].Policy, ""
	}
	if at >= 0 && len(cl.site.classes[at].Datastores) > 0 {
		zc.datastores = cl.site.classes[at].Datastores
	}
	return zc, nil
}

// policy resolves a class.
func (cl *classes) policy(ctx context.Context, class string, w *driver.Desired) (storage.Policy, error) {
	here, err := cl.class(class, w)
	if err == nil && class == "" && here.policy == "" {
		_, err = cl.datastores.allDatastores(ctx) // Returns an error if there are several datastores and none is configured.
	}
	if err != nil {
		return storage.Policy{}, err
	}
	return cl.policies.get(ctx, here.key(), func(ctx context.Context) (storage.Policy, error) {
		p := storage.Policy{Name: here.policy}
		all, err := cl.datastores.allStores(ctx)
		if err != nil {
			return p, err
		}
		if here.policy != "" {
			if err := cl.profile(ctx, class, all, &p); err != nil {
				return p, err
			}
		}
		if here.url != "" || len(here.datastores) > 0 {
			p.Datastores = []string{}
			for _, d := range all {
				if (here.url == "" || d.URL == here.url) && (len(here.datastores) == 0 || containsDatastore(here.datastores, d.Name)) {
					p.Datastores = append(p.Datastores, d.Name)
				}
			}
		}
		p.Datastores = storage.Usable(p, all)
		return p, nil
	})
}

// containsDatastore reports whether names contains a datastore. Names may be inventory paths.
func containsDatastore(names []string, datastore string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return n == datastore || strings.HasSuffix(n, "/"+datastore) })
}

// KnownStorage returns the cached storage policies of a virtual machine.
func (cl *classes) KnownStorage(w *driver.Desired) storage.Resolved {
	known := storage.Resolved{}
	for _, class := range cl.classesOf(w) {
		here, err := cl.class(class, w)
		if err != nil {
			continue
		}
		if p, ok := cl.policies.known(here.key()); ok {
			if known.Policies == nil {
				known.Policies = map[string]storage.Policy{}
			}
			known.Policies[class] = p
		}
	}
	known.KeyProvider, _ = cl.keyProviders.known("")
	return known
}

// StorageKnown reports whether all classes and media of an existing virtual machine are cached. The default class
// is not needed, because existing files keep their policy.
func (r *Resolver) StorageKnown(w *driver.Desired) bool {
	known := r.KnownStorage(w).Policies
	for _, class := range storage.Classes(w.Effective) {
		if _, ok := known[class]; !ok {
			return false
		}
	}
	return len(r.KnownISOs(w)) == countISOs(w)
}

// KeyProvider returns vCenter's default key provider, or an empty string.
func (cl *classes) KeyProvider(ctx context.Context) (string, error) {
	return cl.keyProviders.get(ctx, "", func(ctx context.Context) (string, error) {
		c, err := cl.session.Vim(ctx)
		if err != nil {
			return "", err
		}
		if c.ServiceContent.CryptoManager == nil {
			return "", nil
		}
		// This call lists all providers, because other calls report a missing default like an error.
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

// profile resolves the storage policy with p's name and its compatible datastores.
func (cl *classes) profile(ctx context.Context, class string, all []storage.Datastore, p *storage.Policy) error {
	service, err := cl.session.PolicyClient(ctx)
	if err != nil {
		return err
	}
	profiles, err := cl.profiles.get(ctx, "", func(ctx context.Context) (map[string]string, error) { return ReadProfiles(ctx, service) })
	if err != nil {
		return err
	}
	found := false
	if p.ID, found = profiles[p.Name]; !found {
		cl.profiles.clear() // The policy may be created before the next lookup.
		return &NotUsableError{Missing: true, Message: fmt.Sprintf("%s refers to storage policy %q, which does not exist in vCenter; existing policies: %s",
			cl.describeClass(class), p.Name, conditions.JoinLimited(quoteAll(slices.Sorted(maps.Keys(profiles))), ", "))}
	}
	if p.Encrypted, err = service.SupportsEncryption(ctx, p.ID); err != nil {
		return fmt.Errorf("checking whether storage policy %q requires encryption: %w", p.Name, err)
	}
	return compatible(ctx, service, all, p)
}

func (cl *classes) describeClass(class string) string {
	if class == "" {
		return cl.site.by
	}
	return fmt.Sprintf("StorageClass %q", class)
}

func quoteAll(names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, fmt.Sprintf("%q", n))
	}
	return out
}

// ReadProfiles returns the IDs of all storage policies by name. Names are unique.
func ReadProfiles(ctx context.Context, service *pbm.Client) (map[string]string, error) {
	kind := pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)}
	ids, err := service.QueryProfile(ctx, kind, string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT))
	if err != nil {
		return nil, fmt.Errorf("listing vCenter's storage policies: %w", err)
	}
	out := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	profiles, err := service.RetrieveContent(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("reading vCenter's storage policies: %w", err)
	}
	for _, p := range profiles {
		out[p.GetPbmProfile().Name] = p.GetPbmProfile().ProfileId.UniqueId
	}
	return out, nil
}

// compatible reads the datastores that are compatible with a policy. A datastore that is missing in the result is
// not compatible.
func compatible(ctx context.Context, service *pbm.Client, all []storage.Datastore, p *storage.Policy) error {
	hubs := make([]pbmtypes.PbmPlacementHub, 0, len(all))
	for _, d := range all {
		hubs = append(hubs, pbmtypes.PbmPlacementHub{HubType: "Datastore", HubId: d.ID})
	}
	answer, err := service.CheckRequirements(ctx, hubs, nil, []pbmtypes.BasePbmPlacementRequirement{
		&pbmtypes.PbmPlacementCapabilityProfileRequirement{ProfileId: pbmtypes.PbmProfileId{UniqueId: p.ID}},
	})
	if err != nil {
		return fmt.Errorf("checking the datastores' compatibility with storage policy %q: %w", p.Name, err)
	}
	p.Incompatible = make(map[string]string, len(all))
	for _, d := range all {
		at := slices.IndexFunc(answer, func(r pbmtypes.PbmPlacementCompatibilityResult) bool { return r.Hub.HubId == d.ID })
		switch {
		case at < 0:
			p.Incompatible[d.Name] = "not compatible"
		case len(answer[at].Error) > 0:
			why := "not compatible"
			if m := strings.TrimSpace(answer[at].Error[0].LocalizedMessage); m != "" {
				why += ": " + m
			}
			p.Incompatible[d.Name] = why
		}
	}
	return nil
}
